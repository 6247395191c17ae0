// agent/wire: what agents say to each other, byte by byte, and how they know who said it. One header for the
// format; docs/protocol.md is its document, tests/data/wire its vectors, docs/weft.lua its dissector.
//
// A Weft packet is a UDP datagram to the Weft port, sent with the addresses, MACs, VLAN tags and source port
// of the data it protects and intercepted by the peer's wan port:
//
//    0  magic "WEFT"                    4
//    4  version                         1   kVersion
//    5  type                            1   PacketType
//    6  lane of the sender              1   below the lane count
//    7  lane count of the sender        1   at least 1
//    8  sender boot id, first half      8   enough to choose the keys; hello carries all of it
//   16  counter                         8   per lane, from 1, never reset within a boot id
//   24  body                                by type
//  end  AES-256-GCM tag                16   over everything before it as AAD; nothing is encrypted
//
// Big-endian throughout. The GCM nonce is lane (32 bits) || counter.
//
//   programs / engine                                  this folder
//     bytes from the wan port ──▶ PeerSession::open ──▶ replay window, tag ──▶ body ──▶ decode_... ──▶ value
//     value ──▶ encode ──▶ packet with room for header and tag ──▶ PeerSession::seal ──▶ bytes
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <tl/expected.hpp>

#include "agent/base/bytes.h"

namespace weft::wire {

inline constexpr std::uint32_t kMagic = 0x57454654;  // "WEFT"
inline constexpr std::uint8_t kVersion = 1;
inline constexpr std::uint16_t kDefaultUdpPort = 4793;
// Of a path Weft packets cross: what IPv6 guarantees.
inline constexpr std::uint16_t kLeastWanMtuBytes = 1280;
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

std::string_view describe(PacketType type);  // "hello", "feedback", "announcement", ...

struct Header {
  PacketType type = PacketType::kHello;
  std::uint8_t lane = 0;
  std::uint8_t lane_count = 1;
  std::uint64_t boot_id_prefix = 0;
  std::uint64_t counter = 0;
  friend bool operator==(const Header&, const Header&) = default;
};

// Why a datagram to the Weft port was not accepted.
enum class Refusal : std::uint8_t {
  kNotWeft,        // no magic, or too short to have one: somebody else's, leave it alone
  kOtherVersion,   // a Weft packet of a version this agent does not speak
  kMalformed,      // header or body is impossible
  kUnknownSender,  // no key for this boot id: the peer restarted, or we did, or it is not from the peer
  kBadTag,         // not sealed with the key it claims
  kReplayed,       // this counter was accepted before, or is too old to tell
  kNotReady,       // authentic, but the hello is not complete or the peer has been silent
  kTooManyHellos,  // hellos of unknown senders come faster than keys are worth deriving for them
};

std::string_view describe(Refusal refusal);

// Writes the header into the first kHeaderBytes of `out`.
void write_header(const Header& header, MutableByteView out);

// Reads the header of a whole packet (the UDP payload, tag included). Nothing is authenticated by this.
tl::expected<Header, Refusal> parse_header(ByteView udp_payload);

// False: somebody else's datagram that happens to use the port.
inline bool has_magic(ByteView udp_payload) {
  return udp_payload.size() >= 4 && load_be32(udp_payload.data()) == kMagic;
}

// What kind of Weft packet these bytes claim to be; nullopt when they do not look like one of any kind this
// version knows. For observers without keys (the WAN emulator, statistics): it proves nothing.
inline std::optional<PacketType> looks_like_weft(ByteView udp_payload) {
  if (udp_payload.size() < kEnvelopeBytes || !has_magic(udp_payload)) return std::nullopt;
  const std::uint8_t type = udp_payload[5];
  if (udp_payload[4] != kVersion || type < static_cast<std::uint8_t>(PacketType::kHello) ||
      type > static_cast<std::uint8_t>(PacketType::kAckCopy)) {
    return std::nullopt;
  }
  return static_cast<PacketType>(type);
}

}  // namespace weft::wire
