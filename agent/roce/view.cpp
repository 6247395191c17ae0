#include "agent/roce/view.h"

#include <algorithm>

namespace weft::roce {
namespace {

using Rejected = tl::unexpected<Reject>;

}  // namespace

std::string_view describe(Reject reject) {
  switch (reject) {
    case Reject::kNotIp:
      return "not IPv4 or IPv6";
    case Reject::kNotUdp:
      return "not UDP";
    case Reject::kNotRocePort:
      return "not UDP port 4791";
    case Reject::kFragment:
      return "IP fragment";
    case Reject::kIpOptions:
      return "IPv4 options";
    case Reject::kUnknownOpcode:
      return "unknown opcode";
    case Reject::kTruncated:
      return "ends inside the headers";
    case Reject::kBadIpHeader:
      return "impossible IP header";
    case Reject::kBadIpLength:
      return "IP length does not fit the frame";
    case Reject::kBadUdpLength:
      return "UDP length disagrees with the IP length";
    case Reject::kBadTransportVersion:
      return "BTH transport version is not 0";
    case Reject::kBadPayloadLength:
      return "length does not fit the opcode";
  }
  return "unknown";
}

bool is_malformed(Reject reject) {
  switch (reject) {
    case Reject::kNotIp:
    case Reject::kNotUdp:
    case Reject::kNotRocePort:
    case Reject::kFragment:
    case Reject::kIpOptions:
    case Reject::kUnknownOpcode:
      return false;
    default:
      return true;
  }
}

tl::expected<PacketView, Reject> PacketView::parse(ByteView frame, std::size_t wire_bytes) {
  PacketView view;
  view.data_ = frame.data();
  std::size_t offset = kEthernetBytes;
  if (frame.size() < offset) return Rejected(Reject::kTruncated);
  std::uint16_t ether_type = load_be16(frame.data() + 12);
  while (is_vlan(ether_type)) {
    if (view.vlans_.count == kMaxVlanTags) return Rejected(Reject::kNotIp);
    if (frame.size() < offset + kVlanTagBytes) return Rejected(Reject::kTruncated);
    view.vlans_.tags[view.vlans_.count++] = {ether_type, load_be16(frame.data() + offset)};
    ether_type = load_be16(frame.data() + offset + 2);
    offset += kVlanTagBytes;
  }
  if (ether_type != kEtherTypeIpv4 && ether_type != kEtherTypeIpv6) return Rejected(Reject::kNotIp);
  view.ipv6_ = ether_type == kEtherTypeIpv6;
  view.l3_offset_ = static_cast<std::uint32_t>(offset);
  if (auto parsed = view.parse_l3(frame, std::max(wire_bytes, frame.size())); !parsed) {
    return Rejected(parsed.error());
  }
  return view;
}

tl::expected<PacketView, Reject> PacketView::parse_ip(ByteView ip_packet, std::size_t wire_bytes) {
  if (ip_packet.empty()) return Rejected(Reject::kTruncated);
  PacketView view;
  view.data_ = ip_packet.data();
  view.ipv6_ = ip_packet[0] >> 4 == 6;
  if (auto parsed = view.parse_l3(ip_packet, std::max(wire_bytes, ip_packet.size())); !parsed) {
    return Rejected(parsed.error());
  }
  return view;
}

tl::expected<void, Reject> PacketView::parse_l3(ByteView captured, std::size_t wire_bytes) {
  const std::size_t ip_header_bytes = ipv6_ ? kIpv6Bytes : kIpv4Bytes;
  if (captured.size() < l3_offset_ + ip_header_bytes) return Rejected(Reject::kTruncated);
  const std::uint8_t* ip = data_ + l3_offset_;
  std::size_t ip_total_bytes = 0;
  std::uint8_t protocol = 0;
  if (ipv6_) {
    if (ip[0] >> 4 != 6) return Rejected(Reject::kBadIpHeader);
    ip_total_bytes = kIpv6Bytes + load_be16(ip + 4);
    protocol = ip[6];
  } else {
    if (ip[0] >> 4 != 4 || (ip[0] & 15) < 5) return Rejected(Reject::kBadIpHeader);
    ip_total_bytes = load_be16(ip + 2);
    protocol = ip[9];
    if ((load_be16(ip + 6) & kIpv4FragmentMask) != 0) return Rejected(Reject::kFragment);
    if ((ip[0] & 15) > 5) return Rejected(Reject::kIpOptions);
  }
  if (protocol != kIpProtocolUdp) return Rejected(Reject::kNotUdp);
  l4_offset_ = static_cast<std::uint32_t>(l3_offset_ + ip_header_bytes);
  if (captured.size() < l4_offset_ + kUdpBytes) return Rejected(Reject::kTruncated);
  if (load_be16(data_ + l4_offset_ + 2) != kRoceUdpPort) return Rejected(Reject::kNotRocePort);

  if (ip_total_bytes > wire_bytes - l3_offset_ ||
      ip_total_bytes < ip_header_bytes + kUdpBytes + kBthBytes + kIcrcBytes) {
    return Rejected(Reject::kBadIpLength);
  }
  end_offset_ = static_cast<std::uint32_t>(l3_offset_ + ip_total_bytes);
  captured_end_ = static_cast<std::uint32_t>(std::min<std::size_t>(end_offset_, captured.size()));
  if (load_be16(data_ + l4_offset_ + 4) != ip_total_bytes - ip_header_bytes)
    return Rejected(Reject::kBadUdpLength);

  bth_offset_ = static_cast<std::uint32_t>(l4_offset_ + kUdpBytes);
  if (captured_end_ < bth_offset_ + kBthBytes) return Rejected(Reject::kTruncated);
  op_ = find_opcode(bth_bytes()[0]);
  if (op_ == nullptr) return Rejected(Reject::kUnknownOpcode);
  if ((bth_bytes()[1] & 0x0f) != 0) return Rejected(Reject::kBadTransportVersion);
  payload_offset_ = static_cast<std::uint32_t>(bth_offset_ + kBthBytes + op_->extension_bytes);
  const std::size_t tail_bytes = std::size_t{pad_bytes()} + kIcrcBytes;
  if (end_offset_ < payload_offset_ + tail_bytes) return Rejected(Reject::kBadPayloadLength);
  if (captured_end_ < payload_offset_) return Rejected(Reject::kTruncated);
  if (!op_->carries_payload && end_offset_ != payload_offset_ + kIcrcBytes) {
    return Rejected(Reject::kBadPayloadLength);
  }
  return {};
}

Bth PacketView::bth() const {
  const std::uint8_t* b = bth_bytes();
  return Bth{.opcode = opcode(),
             .solicited_event = (b[1] & 0x80) != 0,
             .mig_req = (b[1] & 0x40) != 0,
             .pad_bytes = pad_bytes(),
             .pkey = load_be16(b + 2),
             .fecn = (b[4] & 0x80) != 0,
             .becn = (b[4] & 0x40) != 0,
             .dest_qpn = dest_qpn(),
             .ack_req = ack_req(),
             .psn = psn()};
}

const std::uint8_t* PacketView::extension(Extension which) const {
  if (!op_->has(which)) return nullptr;
  std::size_t offset = bth_offset_ + kBthBytes;
  for (const auto& [bit, bytes] : kExtensionOrder) {
    if (bit == which) break;
    if (op_->has(bit)) offset += bytes;
  }
  return data_ + offset;
}

std::optional<Reth> PacketView::reth() const {
  const std::uint8_t* p = extension(kExtReth);
  if (p == nullptr) return std::nullopt;
  return Reth{load_be64(p), load_be32(p + 8), load_be32(p + 12)};
}

std::optional<Aeth> PacketView::aeth() const {
  const std::uint8_t* p = extension(kExtAeth);
  if (p == nullptr) return std::nullopt;
  return Aeth{p[0], load_be24(p + 1)};
}

std::optional<AtomicEth> PacketView::atomic_eth() const {
  const std::uint8_t* p = extension(kExtAtomicEth);
  if (p == nullptr) return std::nullopt;
  return AtomicEth{load_be64(p), load_be32(p + 8), load_be64(p + 12), load_be64(p + 20)};
}

std::optional<Deth> PacketView::deth() const {
  const std::uint8_t* p = extension(kExtDeth);
  if (p == nullptr) return std::nullopt;
  return Deth{load_be32(p), load_be24(p + 5)};
}

std::optional<std::uint32_t> PacketView::imm() const {
  const std::uint8_t* p = extension(kExtImm);
  if (p == nullptr) return std::nullopt;
  return load_be32(p);
}

std::optional<std::uint32_t> PacketView::feth() const {
  const std::uint8_t* p = extension(kExtFeth);
  if (p == nullptr) return std::nullopt;
  return load_be32(p);
}

std::optional<std::uint32_t> PacketView::ieth_rkey() const {
  const std::uint8_t* p = extension(kExtIeth);
  if (p == nullptr) return std::nullopt;
  return load_be32(p);
}

std::optional<std::uint64_t> PacketView::atomic_ack_original() const {
  const std::uint8_t* p = extension(kExtAtomicAckEth);
  if (p == nullptr) return std::nullopt;
  return load_be64(p);
}

IpAddress PacketView::src_address() const {
  const std::uint8_t* ip = data_ + l3_offset_;
  return ipv6_ ? IpAddress::from_ipv6(ip + 8) : IpAddress::from_ipv4(ip + 12);
}

IpAddress PacketView::dst_address() const {
  const std::uint8_t* ip = data_ + l3_offset_;
  return ipv6_ ? IpAddress::from_ipv6(ip + 24) : IpAddress::from_ipv4(ip + 16);
}

std::uint8_t PacketView::tos() const {
  const std::uint8_t* ip = data_ + l3_offset_;
  return ipv6_ ? static_cast<std::uint8_t>((ip[0] << 4) | (ip[1] >> 4)) : ip[1];
}

FlowKey PacketView::flow_key() const {
  FlowKey key{.src = src_address(),
              .dst = dst_address(),
              .dest_qpn = dest_qpn(),
              .vids = {},
              .vlan_count = vlans_.count,
              .response = op_->is_response()};
  for (std::size_t i = 0; i < vlans_.count; ++i)
    key.vids[i] = vlans_.tags[i].vid();
  return key;
}

ByteView PacketView::payload() const {
  const std::size_t end = std::min<std::size_t>(payload_offset_ + payload_bytes(), captured_end_);
  return {data_ + payload_offset_, end - payload_offset_};
}

std::uint32_t PacketView::icrc_expected() const {
  return icrc_of(ipv6_, ByteView(data_ + l3_offset_, icrc_offset() - l3_offset_));
}

}  // namespace weft::roce
