// agent/roce: what a RoCEv2 packet is. Headers, opcode table, ICRC, PSN arithmetic, a view over received
// bytes and a builder of new ones. Pure: no sockets, no state.
//
//   Eth(14) [VLAN(4)]x0-2 | IPv4(20) or IPv6(40) | UDP(8) | BTH(12) | extensions | payload | pad(0-3) | ICRC(4)
//                         ^ l3_offset                     ^ bth_offset           ^ payload_offset     ^ icrc_offset
//
// The view never reads past a length it has checked, and never trusts a length field beyond the bytes that
// are there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "agent/base/bytes.h"
#include "agent/roce/flow_key.h"
#include "agent/roce/headers.h"
#include "agent/roce/icrc.h"
#include "agent/roce/opcode.h"

namespace weft::roce {

// Why a frame is not a RoCE packet (kNot...: somebody else's, as it should be) or is a broken one.
enum class Reject : std::uint8_t {
  kNotIp,                // another EtherType, or more than two VLAN tags
  kNotUdp,               // another protocol, or an IPv6 extension header
  kNotRocePort,          // UDP to another port
  kFragment,             // IPv4 fragment: ports unknown or packet incomplete
  kIpOptions,            // IPv4 with options: out of scope, passed
  kUnknownOpcode,        // reserved, vendor or a transport Weft does not handle
  kTruncated,            // the captured bytes end inside the headers
  kBadIpHeader,          // version or header length is impossible
  kBadIpLength,          // the IP length exceeds the frame, or is too short for what it must hold
  kBadUdpLength,         // the UDP length disagrees with the IP length
  kBadTransportVersion,  // BTH TVer is not 0
  kBadPayloadLength,     // too short for extensions, pad and ICRC, or payload where the opcode has none
};

// A short phrase for people: "IPv4 fragment".
std::string_view describe(Reject reject);
// True for the kinds that are a fault in a packet that claims to be RoCE, false for other people's traffic.
bool is_malformed(Reject reject);

class PacketView {
 public:
  // Parses an Ethernet frame. `wire_bytes` is the frame's length on the wire where the bytes at hand may be
  // fewer (a capture cut by its snap length, the first descriptor of a multi-buffer frame); they must still
  // hold all headers including the extensions. Bytes beyond the IP length (Ethernet padding) are ignored.
  static tl::expected<PacketView, Reject> parse(ByteView frame, std::size_t wire_bytes);
  static tl::expected<PacketView, Reject> parse(ByteView frame) { return parse(frame, frame.size()); }
  // The same from the IP header on (a symbol of a repair block).
  static tl::expected<PacketView, Reject> parse_ip(ByteView ip_packet, std::size_t wire_bytes);
  static tl::expected<PacketView, Reject> parse_ip(ByteView ip_packet) {
    return parse_ip(ip_packet, ip_packet.size());
  }

  const OpcodeInfo& op() const { return *op_; }
  Opcode opcode() const { return op_->opcode; }
  Bth bth() const;
  Psn psn() const { return Psn(load_be24(bth_bytes() + 9)); }
  std::uint32_t dest_qpn() const { return load_be24(bth_bytes() + 5); }
  bool ack_req() const { return (bth_bytes()[8] & 0x80) != 0; }
  std::uint8_t pad_bytes() const { return (bth_bytes()[1] >> 4) & 3; }

  // Each extended header, when the opcode has it.
  std::optional<Reth> reth() const;
  std::optional<Aeth> aeth() const;
  std::optional<AtomicEth> atomic_eth() const;
  std::optional<Deth> deth() const;
  std::optional<std::uint32_t> imm() const;
  std::optional<std::uint32_t> feth() const;                 // the raw word
  std::optional<std::uint32_t> ieth_rkey() const;            // the key to invalidate
  std::optional<std::uint64_t> atomic_ack_original() const;  // the value before the atomic

  bool ipv6() const { return ipv6_; }
  IpAddress src_address() const;
  IpAddress dst_address() const;
  std::uint16_t udp_source_port() const { return load_be16(data_ + l4_offset_); }
  std::uint8_t tos() const;  // DSCP << 2 | ECN, also for IPv6
  std::uint8_t dscp() const { return static_cast<std::uint8_t>(tos() >> 2); }
  std::uint8_t ecn() const { return tos() & 3; }
  const VlanStack& vlans() const { return vlans_; }
  FlowKey flow_key() const;

  // All of the bytes that belong to the packet and are at hand, from the IP header on.
  ByteView ip_packet() const { return ByteView(data_ + l3_offset_, captured_end_ - l3_offset_); }
  std::size_t ip_packet_bytes() const { return end_offset_ - l3_offset_; }  // on the wire
  std::size_t payload_bytes() const { return icrc_offset() - pad_bytes() - payload_offset_; }
  ByteView payload() const;  // the part at hand
  std::size_t l3_offset() const { return l3_offset_; }
  std::size_t bth_offset() const { return bth_offset_; }
  std::size_t payload_offset() const { return payload_offset_; }
  std::size_t icrc_offset() const { return end_offset_ - kIcrcBytes; }
  std::size_t frame_bytes() const { return end_offset_; }  // without Ethernet padding

  // False when the frame at hand ends before the ICRC does: then the ICRC cannot be read or checked.
  bool complete() const { return captured_end_ == end_offset_; }
  // The ICRC as found and as it should be. Only when complete().
  std::uint32_t icrc_found() const { return icrc_from_wire(data_ + icrc_offset()); }
  std::uint32_t icrc_expected() const;
  bool icrc_ok() const { return complete() && icrc_found() == icrc_expected(); }
  // First two ICRC bytes on the wire: with flow and PSN, the name of a source packet. Only when complete().
  std::uint16_t fingerprint() const { return load_be16(data_ + icrc_offset()); }

 private:
  PacketView() = default;
  tl::expected<void, Reject> parse_l3(ByteView captured, std::size_t wire_bytes);
  const std::uint8_t* bth_bytes() const { return data_ + bth_offset_; }
  const std::uint8_t* extension(Extension which) const;  // nullptr when the opcode lacks it

  // The first byte of the frame (not owned), and offsets from it.
  const std::uint8_t* data_ = nullptr;
  const OpcodeInfo* op_ = nullptr;
  VlanStack vlans_;
  bool ipv6_ = false;
  std::uint32_t l3_offset_ = 0;
  std::uint32_t l4_offset_ = 0;
  std::uint32_t bth_offset_ = 0;
  std::uint32_t payload_offset_ = 0;
  std::uint32_t end_offset_ = 0;    // one past the ICRC on the wire
  std::uint32_t captured_end_ = 0;  // min(end_offset_, bytes at hand)
};

}  // namespace weft::roce
