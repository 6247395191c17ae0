// A packet that a queue pair wants sent: headers and payload; addresses and IP ID are the host's business.
#pragma once

#include "agent/roce/builder.h"

namespace weft::rc {

struct OutgoingPacket {
  roce::PacketHeaders headers;
  ByteView payload;
  bool retransmission = false;
};

// Payload bytes of packet `index` of a message.
constexpr std::uint32_t packet_bytes(std::uint32_t message_bytes, std::uint32_t pmtu_bytes,
                                     std::uint32_t index) {
  const std::uint64_t offset = std::uint64_t{index} * pmtu_bytes;
  const std::uint64_t left = message_bytes - offset;
  return static_cast<std::uint32_t>(left < pmtu_bytes ? left : pmtu_bytes);
}

}  // namespace weft::rc
