// Writes a packet of an RDMA WRITE message with zeros for its payload: every header as the sender's own, but for the
// IP identification, ECN, and AckReq, which is set so that the receiver answers for it.
#pragma once

#include <optional>

#include "agent/recovery/engine_io.h"
#include "agent/recovery/message_log.h"
#include "agent/recovery/path_headers.h"
#include "agent/roce/builder.h"

namespace weft::recovery {

// The headers of packet `psn` of the message. message.contains(psn) and message.headers_known(psn).
roce::PacketHeaders filled_headers(const LoggedMessage& message, std::uint32_t dest_qpn, roce::Psn psn);

// nullopt when the pool has no frame. `path` is known.
std::optional<FrameId> build_filled_frame(FrameIo& io, const PathHeaders& path, const LoggedMessage& message,
                                          std::uint32_t dest_qpn, roce::Psn psn);

}  // namespace weft::recovery
