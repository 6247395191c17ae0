// Wire sizes and the decoded form of every header a RoCEv2 packet may carry (IBTA volume 1, chapters 9 and
// 17; annex A17 for RoCEv2). Decoded values are host-endian.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "agent/roce/opcode.h"
#include "agent/roce/psn.h"

namespace weft::roce {

inline constexpr std::uint16_t kRoceUdpPort = 4791;  // IANA: RoCEv2 destination port

// ECN field of the ToS byte (RFC 3168).
inline constexpr std::uint8_t kEcnMask = 3;
inline constexpr std::uint8_t kEcnEct1 = 1;  // ECN-capable transport
inline constexpr std::uint8_t kEcnEct0 = 2;
inline constexpr std::uint8_t kEcnCe = 3;  // congestion experienced

inline constexpr std::size_t kEthernetBytes = 14;
inline constexpr std::size_t kVlanTagBytes = 4;
inline constexpr std::size_t kIpv4Bytes = 20;  // options are not ours
inline constexpr std::size_t kIpv6Bytes = 40;  // nor are extension headers
inline constexpr std::size_t kUdpBytes = 8;
inline constexpr std::size_t kBthBytes = 12;
inline constexpr std::size_t kDethBytes = 8;
inline constexpr std::size_t kFethBytes = 4;
inline constexpr std::size_t kRethBytes = 16;
inline constexpr std::size_t kAtomicEthBytes = 28;
inline constexpr std::size_t kAethBytes = 4;
inline constexpr std::size_t kAtomicAckEthBytes = 8;
inline constexpr std::size_t kImmBytes = 4;
inline constexpr std::size_t kIethBytes = 4;
inline constexpr std::size_t kCnpReservedBytes = 16;
inline constexpr std::size_t kIcrcBytes = 4;

inline constexpr std::uint16_t kEtherTypeIpv4 = 0x0800;
inline constexpr std::uint16_t kEtherTypeIpv6 = 0x86dd;
inline constexpr std::uint16_t kEtherTypeVlan = 0x8100;    // 802.1Q
inline constexpr std::uint16_t kEtherTypeVlanAd = 0x88a8;  // 802.1ad, outer tag
constexpr bool is_vlan(std::uint16_t ether_type) {
  return ether_type == kEtherTypeVlan || ether_type == kEtherTypeVlanAd;
}

inline constexpr std::uint8_t kIpv4NoOptions = 0x45;  // first byte: version 4, five words of header
// Of the 16 bits behind the IP identification.
inline constexpr std::uint16_t kIpv4DontFragment = 0x4000;
inline constexpr std::uint16_t kIpv4FragmentMask = 0x3fff;  // more fragments, and the offset
inline constexpr std::uint8_t kIpProtocolUdp = 17;

// Extended headers in the order they stand on the wire, with their sizes.
inline constexpr std::array kExtensionOrder{
    std::pair{kExtDeth, kDethBytes},
    std::pair{kExtFeth, kFethBytes},
    std::pair{kExtReth, kRethBytes},
    std::pair{kExtAtomicEth, kAtomicEthBytes},
    std::pair{kExtAeth, kAethBytes},
    std::pair{kExtAtomicAckEth, kAtomicAckEthBytes},
    std::pair{kExtImm, kImmBytes},
    std::pair{kExtIeth, kIethBytes},
    std::pair{kExtCnpReserved, kCnpReservedBytes},
};

struct Bth {
  Opcode opcode = Opcode::kRcSendOnly;
  bool solicited_event = false;
  bool mig_req = false;        // hardware sets it, rdma_rxe does not; it is in the ICRC
  std::uint8_t pad_bytes = 0;  // 0-3
  std::uint16_t pkey = 0xffff;
  bool fecn = false;
  bool becn = false;
  std::uint32_t dest_qpn = 0;  // 24 bits
  bool ack_req = false;
  Psn psn;
};

struct Reth {
  std::uint64_t va = 0;
  std::uint32_t rkey = 0;
  std::uint32_t length_bytes = 0;  // of the whole message
  friend bool operator==(const Reth&, const Reth&) = default;
};

struct Aeth {
  std::uint8_t syndrome = 0;
  std::uint32_t msn = 0;  // 24 bits
  friend bool operator==(const Aeth&, const Aeth&) = default;
};

struct AtomicEth {
  std::uint64_t va = 0;
  std::uint32_t rkey = 0;
  std::uint64_t swap_or_add = 0;
  std::uint64_t compare = 0;
  friend bool operator==(const AtomicEth&, const AtomicEth&) = default;
};

struct Deth {
  std::uint32_t qkey = 0;
  std::uint32_t source_qpn = 0;
  friend bool operator==(const Deth&, const Deth&) = default;
};

// AETH syndromes (IBTA 9.7.5.2.1): the top bits say what it is, the low five bits carry credits, timer or
// code.
inline constexpr std::uint8_t kSyndromeKindMask = 0xe0;
inline constexpr std::uint8_t kSyndromeAck = 0x00;
inline constexpr std::uint8_t kSyndromeRnrNak = 0x20;
inline constexpr std::uint8_t kSyndromeNak = 0x60;
inline constexpr std::uint8_t kNakPsnSequenceError = 0x60;
inline constexpr std::uint8_t kNakInvalidRequest = 0x61;
inline constexpr std::uint8_t kNakRemoteAccess = 0x62;
inline constexpr std::uint8_t kNakRemoteOperational = 0x63;
inline constexpr std::uint8_t kAckUnlimitedCredits = 0x1f;

constexpr bool is_ack(std::uint8_t syndrome) { return (syndrome & kSyndromeKindMask) == kSyndromeAck; }
constexpr bool is_rnr_nak(std::uint8_t syndrome) { return (syndrome & kSyndromeKindMask) == kSyndromeRnrNak; }
constexpr bool is_nak(std::uint8_t syndrome) { return (syndrome & kSyndromeKindMask) == kSyndromeNak; }

// Up to two VLAN tags, outermost first, as they stand in the frame.
struct VlanTag {
  std::uint16_t tpid = kEtherTypeVlan;
  std::uint16_t tci = 0;  // PCP 3 bits, DEI 1 bit, VID 12 bits
  std::uint16_t vid() const { return tci & 0x0fff; }
  friend bool operator==(const VlanTag&, const VlanTag&) = default;
};

inline constexpr std::size_t kMaxVlanTags = 2;

struct VlanStack {
  std::array<VlanTag, kMaxVlanTags> tags{};
  std::uint8_t count = 0;
  friend bool operator==(const VlanStack&, const VlanStack&) = default;
};

// Bytes of zero padding that bring a payload to a multiple of four.
constexpr std::uint8_t pad_for(std::size_t payload_bytes) {
  return static_cast<std::uint8_t>(-payload_bytes & 3);
}

// Packets a message of this length takes; a zero-length message takes one.
constexpr std::uint32_t packets_for(std::uint32_t message_bytes, std::uint32_t pmtu_bytes) {
  return message_bytes == 0 ? 1 : (message_bytes - 1) / pmtu_bytes + 1;
}

// Every path MTU there is: payload bytes of a full packet.
inline constexpr std::array<std::uint16_t, 5> kPmtus{256, 512, 1024, 2048, 4096};
inline constexpr std::uint16_t kMaxPmtuBytes = kPmtus.back();

constexpr bool is_pmtu(std::uint32_t bytes) { return std::ranges::find(kPmtus, bytes) != kPmtus.end(); }

}  // namespace weft::roce
