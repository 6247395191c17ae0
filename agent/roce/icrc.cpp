#include "agent/roce/icrc.h"

#include <algorithm>

#include <isa-l/crc.h>

namespace weft::roce {
namespace {

constexpr std::size_t kPseudoHeaderBytes = 8;  // the LRH an InfiniBand packet would have, as ones

constexpr std::size_t ip_bytes(bool ipv6) { return ipv6 ? kIpv6Bytes : kIpv4Bytes; }

}  // namespace

void set_exempt_fields(bool ipv6, MutableByteView ip_packet, std::uint8_t value) {
  std::uint8_t* ip = ip_packet.data();
  if (ipv6) {
    ip[0] = static_cast<std::uint8_t>((ip[0] & 0xf0) | (value & 0x0f));  // traffic class, high half
    ip[1] = ip[2] = ip[3] = value;                                       // its low half, flow label
    ip[7] = value;                                                       // hop limit
  } else {
    ip[1] = value;            // ToS
    ip[8] = value;            // TTL
    ip[10] = ip[11] = value;  // header checksum
  }
  std::uint8_t* udp = ip + ip_bytes(ipv6);
  udp[6] = udp[7] = value;     // UDP checksum
  udp[kUdpBytes + 4] = value;  // FECN, BECN and six reserved bits
}

Icrc::Icrc(bool ipv6, ByteView headers) {
  std::array<std::uint8_t, kPseudoHeaderBytes + kIpv6Bytes + kUdpBytes + kBthBytes> masked;
  const std::size_t header_bytes = ip_bytes(ipv6) + kUdpBytes + kBthBytes;
  std::fill_n(masked.begin(), kPseudoHeaderBytes, std::uint8_t{0xff});
  std::copy_n(headers.begin(), header_bytes, masked.begin() + kPseudoHeaderBytes);
  set_exempt_fields(ipv6, MutableByteView(masked).subspan(kPseudoHeaderBytes, header_bytes), 0xff);
  crc_ = crc32_gzip_refl(0, masked.data(), kPseudoHeaderBytes + header_bytes);
  update(headers.subspan(header_bytes));
}

void Icrc::update(ByteView bytes) { crc_ = crc32_gzip_refl(crc_, bytes.data(), bytes.size()); }

std::uint32_t icrc_of(bool ipv6, ByteView ip_packet_without_icrc) {
  return Icrc(ipv6, ip_packet_without_icrc).value();
}

std::array<std::uint8_t, kIcrcBytes> icrc_to_wire(std::uint32_t icrc) {
  return {static_cast<std::uint8_t>(icrc), static_cast<std::uint8_t>(icrc >> 8),
          static_cast<std::uint8_t>(icrc >> 16), static_cast<std::uint8_t>(icrc >> 24)};
}

std::uint32_t icrc_from_wire(const std::uint8_t* four_bytes) {
  return std::uint32_t{four_bytes[0]} | std::uint32_t{four_bytes[1]} << 8 |
         std::uint32_t{four_bytes[2]} << 16 | std::uint32_t{four_bytes[3]} << 24;
}

}  // namespace weft::roce
