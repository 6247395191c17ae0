#include "agent/roce/udp_datagram.h"

namespace weft::roce {

std::optional<UdpDatagram> UdpDatagram::parse(ByteView frame) {
  if (frame.size() < kEthernetBytes) return std::nullopt;
  UdpDatagram datagram;
  std::uint16_t ether_type = load_be16(frame.data() + kEthernetBytes - 2);
  ByteView rest = frame.subspan(kEthernetBytes);
  while (ether_type == kEtherTypeVlan || ether_type == kEtherTypeVlanAd) {
    if (datagram.vlans.count == kMaxVlanTags || rest.size() < kVlanTagBytes) return std::nullopt;
    datagram.vlans.tags[datagram.vlans.count++] = {ether_type, load_be16(rest.data())};
    ether_type = load_be16(rest.data() + 2);
    rest = rest.subspan(kVlanTagBytes);
  }
  if (ether_type != kEtherTypeIpv4 && ether_type != kEtherTypeIpv6) return std::nullopt;

  const bool ipv6 = ether_type == kEtherTypeIpv6;
  const std::size_t ip_header_bytes = ipv6 ? kIpv6Bytes : kIpv4Bytes;
  if (rest.size() < ip_header_bytes + kUdpBytes) return std::nullopt;
  const std::uint8_t* ip = rest.data();
  if (ipv6) {
    if (ip[0] >> 4 != 6 || ip[6] != kIpProtocolUdp) return std::nullopt;
    datagram.ip_bytes = kIpv6Bytes + load_be16(ip + 4);
    datagram.src = IpAddress::from_ipv6(ip + 8);
    datagram.dst = IpAddress::from_ipv6(ip + 24);
  } else {
    constexpr std::uint16_t kMoreFragmentsOrOffset = 0x3fff;
    if (ip[0] != 0x45 || ip[9] != kIpProtocolUdp || (load_be16(ip + 6) & kMoreFragmentsOrOffset) != 0) {
      return std::nullopt;
    }
    datagram.ip_bytes = load_be16(ip + 2);
    datagram.src = IpAddress::from_ipv4(ip + 12);
    datagram.dst = IpAddress::from_ipv4(ip + 16);
  }
  const std::uint8_t* udp = ip + ip_header_bytes;
  if (datagram.ip_bytes > rest.size() || datagram.ip_bytes < ip_header_bytes + kUdpBytes ||
      load_be16(udp + 4) != datagram.ip_bytes - ip_header_bytes) {
    return std::nullopt;
  }
  datagram.source_port = load_be16(udp);
  datagram.destination_port = load_be16(udp + 2);
  datagram.payload =
      rest.subspan(ip_header_bytes + kUdpBytes, datagram.ip_bytes - ip_header_bytes - kUdpBytes);
  return datagram;
}

}  // namespace weft::roce
