// agent/wire: what agents say to each other, byte by byte, and how they know who said it. One header for the
// format; docs/protocol.md is its document, tests/data/wire its vectors, docs/weft.lua its dissector.
//
// A Weft packet is a UDP datagram to the Weft port, sent with the addresses, MACs, VLAN tags and source port
// of the data it protects and intercepted by the peer's wan port:
//
//    0  magic "WEFT"                    4
//    4  version                         1   kVersion
//    5  type                            1   PacketType
//    6  lane of the sender              1
//    7  lane count of the sender        1   at least 1
//    8  sender boot id, first half      8   enough to choose the keys; hello carries all of it
//   16  counter                         8   per lane, never reset within a boot id; with the lane the GCM
//   nonce 24  body                                by type
//  end  AES-256-GCM tag                16   over everything before it as AAD; nothing is encrypted
//
// Big-endian throughout.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::wire {

inline constexpr std::uint32_t kMagic = 0x57454654;  // "WEFT"
inline constexpr std::uint8_t kVersion = 1;
inline constexpr std::uint16_t kDefaultUdpPort = 4793;
inline constexpr std::size_t kHeaderBytes = 24;
inline constexpr std::size_t kTagBytes = 16;
inline constexpr std::size_t kEnvelopeBytes = kHeaderBytes + kTagBytes;

enum class PacketType : std::uint8_t {
  kHello = 1,
  kFeedback = 2,
  kAnnouncement = 3,
  kManifest = 4,
  kRepair = 5,
  kAckCopy = 6,
};

struct Header {
  PacketType type = PacketType::kHello;
  std::uint8_t lane = 0;
  std::uint8_t lane_count = 1;
  std::uint64_t boot_id_prefix = 0;
  std::uint64_t counter = 0;
};

}  // namespace weft::wire
