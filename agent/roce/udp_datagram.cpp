#include "agent/roce/udp_datagram.h"

namespace weft::roce {

std::optional<UdpDatagram> UdpDatagram::parse(ByteView frame, std::size_t wire_bytes) {
  if (frame.size() < kEthernetBytes) return std::nullopt;
  UdpDatagram datagram;
  std::uint16_t ether_type = load_be16(frame.data() + kEthernetBytes - 2);
  ByteView rest = frame.subspan(kEthernetBytes);
  while (is_vlan(ether_type)) {
    if (datagram.vlans.count == kMaxVlanTags || rest.size() < kVlanTagBytes) return std::nullopt;
    datagram.vlans.tags[datagram.vlans.count++] = {ether_type, load_be16(rest.data())};
    ether_type = load_be16(rest.data() + 2);
    rest = rest.subspan(kVlanTagBytes);
  }
  const std::uint8_t version = rest.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(rest[0] >> 4);
  if (!(ether_type == kEtherTypeIpv4 && version == 4) && !(ether_type == kEtherTypeIpv6 && version == 6)) {
    return std::nullopt;
  }
  if (!datagram.read_ip(rest, wire_bytes - (frame.size() - rest.size()))) return std::nullopt;
  return datagram;
}

std::optional<UdpDatagram> UdpDatagram::parse_ip(ByteView ip_packet, std::size_t wire_bytes) {
  UdpDatagram datagram;
  if (!datagram.read_ip(ip_packet, wire_bytes)) return std::nullopt;
  return datagram;
}

bool UdpDatagram::read_ip(ByteView ip_packet, std::size_t wire_bytes) {
  if (ip_packet.empty()) return false;
  const bool ipv6 = ip_packet[0] >> 4 == 6;
  const std::size_t ip_header_bytes = ipv6 ? kIpv6Bytes : kIpv4Bytes;
  const std::size_t headers_bytes = ip_header_bytes + kUdpBytes;
  if (ip_packet.size() < headers_bytes) return false;
  const std::uint8_t* ip = ip_packet.data();
  if (ipv6) {
    if (ip[6] != kIpProtocolUdp) return false;
    ip_bytes = kIpv6Bytes + load_be16(ip + 4);
    src = IpAddress::from_ipv6(ip + 8);
    dst = IpAddress::from_ipv6(ip + 24);
  } else {
    if (ip[0] != kIpv4NoOptions || ip[9] != kIpProtocolUdp || (load_be16(ip + 6) & kIpv4FragmentMask) != 0) {
      return false;
    }
    ip_bytes = load_be16(ip + 2);
    src = IpAddress::from_ipv4(ip + 12);
    dst = IpAddress::from_ipv4(ip + 16);
  }
  const std::uint8_t* udp = ip + ip_header_bytes;
  if (ip_bytes > wire_bytes || ip_bytes < headers_bytes || load_be16(udp + 4) != ip_bytes - ip_header_bytes) {
    return false;
  }
  source_port = load_be16(udp);
  destination_port = load_be16(udp + 2);
  complete = ip_bytes <= ip_packet.size();
  payload = ip_packet.first(complete ? ip_bytes : ip_packet.size()).subspan(headers_bytes);
  return true;
}

}  // namespace weft::roce
