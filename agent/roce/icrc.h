// The invariant CRC (IBTA annex A17.3.3): CRC-32 as in zlib over eight bytes 0xff and the packet from the IP
// header to the end of the pad, with the fields that routers may change masked to ones: IPv4 ToS, TTL and
// header checksum; IPv6 traffic class, flow label and hop limit; UDP checksum; BTH byte 4. Sent least
// significant byte first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "agent/base/bytes.h"
#include "agent/roce/headers.h"

namespace weft::roce {

// The ICRC of a packet that may lie in several pieces (a frame in several AF_XDP descriptors).
//   Icrc crc(ip_version_6, headers);   // headers: IP, UDP and BTH, contiguous
//   crc.update(rest); ... crc.value();
class Icrc {
 public:
  // `headers` starts at the IP header and holds at least IP + UDP + BTH; bytes beyond those are taken as they
  // are.
  Icrc(bool ipv6, ByteView headers);
  void update(ByteView bytes);
  std::uint32_t value() const { return crc_; }

 private:
  std::uint32_t crc_;
};

// ICRC of a contiguous packet: from the IP header up to but not including the ICRC itself. At least IP + UDP
// + BTH.
std::uint32_t icrc_of(bool ipv6, ByteView ip_packet_without_icrc);

// The value as it stands on the wire, and back.
std::array<std::uint8_t, kIcrcBytes> icrc_to_wire(std::uint32_t icrc);
std::uint32_t icrc_from_wire(const std::uint8_t* four_bytes);

// Sets the ICRC-exempt fields of an IP packet (at least IP + UDP + BTH) to `value` bytes: 0xff for the CRC,
// 0x00 for the canonical form in which the two sides of a code agree about a packet.
void set_exempt_fields(bool ipv6, MutableByteView ip_packet, std::uint8_t value);

}  // namespace weft::roce
