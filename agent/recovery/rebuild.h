// Makes frames out of what was recovered. A symbol holds the IP packet with the fields that routers may change zeroed;
// those, MACs and VLAN tags are taken from the newest packet of its flow that did arrive.
#pragma once

#include <optional>

#include "agent/base/bytes.h"
#include "agent/recovery/engine_io.h"
#include "agent/recovery/path_headers.h"

namespace weft::recovery {

// ToS for a packet that was sent along this path. The path's own packet may have been marked on the way; this one was
// sent unmarked, unless `ce_seen`.
std::uint8_t rebuilt_tos(std::uint8_t path_tos, bool ce_seen);

// `ip_packet` is canonical and a valid RoCE packet of the path's address family. `ce_seen`: a congestion mark must
// reach the receiver, though nobody knows whether it was on this packet. nullopt when the pool has no frame.
std::optional<FrameId> rebuild_frame(FrameIo& io, const PathHeaders& path, ByteView ip_packet, bool ce_seen);

}  // namespace weft::recovery
