// Random but valid RoCEv2 packets, for property tests and for programs that feed other tools.
#pragma once

#include "agent/base/bytes.h"
#include "agent/base/rng.h"
#include "agent/roce/builder.h"

namespace weft::test {

struct RandomPacket {
  roce::PacketPath path;
  roce::PacketHeaders headers;  // bth.pad_bytes is that of the payload
  Bytes payload;

  Bytes frame() const { return roce::build_frame(path, headers, payload); }
};

// Every field the wire carries takes any value it may have. `payload_bytes` is ignored where the opcode has
// no payload; the VLAN stack holds `vlan_count` tags, an 802.1ad one outermost when there are two.
RandomPacket random_packet(Rng& rng, const roce::OpcodeInfo& op, bool ipv6, std::uint8_t vlan_count,
                           std::size_t payload_bytes);

// The same with opcode, family, tags and a payload of up to `max_payload_bytes` drawn as well.
RandomPacket random_packet(Rng& rng, std::size_t max_payload_bytes);

Bytes random_bytes(Rng& rng, std::size_t count);

}  // namespace weft::test
