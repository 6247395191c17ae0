#include "netem/ip_frame.h"

#include <algorithm>

#include "agent/roce/builder.h"
#include "agent/roce/headers.h"

namespace weft::netem {
namespace {

bool is_ect(std::uint8_t ecn) { return ecn == roce::kEcnEct0 || ecn == roce::kEcnEct1; }

}  // namespace

IpFrame IpFrame::locate(ByteView frame) {
  IpFrame ip;
  ip.l3_offset = roce::kEthernetBytes;
  std::uint16_t ether_type = load_be16(frame.data() + 12);
  while (roce::is_vlan(ether_type) && frame.size() >= ip.l3_offset + roce::kVlanTagBytes) {
    ether_type = load_be16(frame.data() + ip.l3_offset + 2);
    ip.l3_offset += roce::kVlanTagBytes;
  }
  const std::size_t room = frame.size() - ip.l3_offset;
  const std::uint8_t* l3 = frame.data() + ip.l3_offset;
  std::size_t claimed = room;
  if (ether_type == roce::kEtherTypeIpv4 && room >= roce::kIpv4Bytes) {
    ip.family = Family::kIpv4;
    claimed = load_be16(l3 + 2);
    // A header with options is nobody's here: marking it would need another checksum.
    ip.ect = l3[0] == roce::kIpv4NoOptions && is_ect(l3[1] & roce::kEcnMask);
  } else if (ether_type == roce::kEtherTypeIpv6 && room >= roce::kIpv6Bytes) {
    ip.family = Family::kIpv6;
    claimed = roce::kIpv6Bytes + load_be16(l3 + 4);
    ip.ect = is_ect(l3[1] >> 4 & roce::kEcnMask);
  }
  ip.ip_bytes =
      static_cast<std::uint32_t>(std::clamp<std::size_t>(claimed, 1, std::max<std::size_t>(room, 1)));
  return ip;
}

IpFrame::Udp IpFrame::udp(ByteView frame) const {
  if (family == Family::kNone) return {};
  const std::uint8_t* l3 = frame.data() + l3_offset;
  const bool ipv6 = family == Family::kIpv6;
  if (!ipv6 && (l3[0] != roce::kIpv4NoOptions || (load_be16(l3 + 6) & roce::kIpv4FragmentMask) != 0))
    return {};
  if ((ipv6 ? l3[6] : l3[9]) != roce::kIpProtocolUdp) return {};
  const std::size_t header_bytes = (ipv6 ? roce::kIpv6Bytes : roce::kIpv4Bytes) + roce::kUdpBytes;
  if (ip_bytes < header_bytes) return {};
  const ByteView packet = frame.subspan(l3_offset, ip_bytes);
  return {load_be16(packet.data() + header_bytes - roce::kUdpBytes + 2), packet.subspan(header_bytes)};
}

void mark_ce(const IpFrame& ip, MutableByteView frame) {
  std::uint8_t* l3 = frame.data() + ip.l3_offset;
  if (ip.family == IpFrame::Family::kIpv4) {
    l3[1] |= roce::kEcnCe;
    roce::fix_ipv4_checksum(l3);
  } else {
    l3[1] |= roce::kEcnCe << 4;
  }
}

void bleach_dscp(const IpFrame& ip, MutableByteView frame) {
  std::uint8_t* l3 = frame.data() + ip.l3_offset;
  if (ip.family == IpFrame::Family::kIpv4 && l3[0] == roce::kIpv4NoOptions) {
    l3[1] &= roce::kEcnMask;
    roce::fix_ipv4_checksum(l3);
  } else if (ip.family == IpFrame::Family::kIpv6) {
    // The traffic class lies across both bytes, its upper six bits are the DSCP.
    l3[0] &= 0xf0;
    l3[1] &= roce::kEcnMask << 4 | 0x0f;
  }
}

void flip_bit(const IpFrame& ip, MutableByteView frame, std::uint32_t bit) {
  frame[ip.l3_offset + bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
}

}  // namespace weft::netem
