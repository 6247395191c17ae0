// Any UDP datagram in an Ethernet frame with at most two VLAN tags, without IP options, extension headers or
// fragments: what a Weft packet travels in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "agent/base/bytes.h"
#include "agent/roce/headers.h"
#include "agent/roce/ip_address.h"

namespace weft::roce {

struct UdpDatagram {
  VlanStack vlans;
  IpAddress src;
  IpAddress dst;
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  std::size_t ip_bytes = 0;  // the whole IP packet
  ByteView payload;          // into the frame: the part at hand
  bool complete = true;      // false when the payload goes on beyond the bytes at hand

  // nullopt for anything else, and when the lengths do not agree with each other or the frame. Checksums are
  // not looked at. `wire_bytes` is the frame's length where a capture has cut it; its headers must be there.
  static std::optional<UdpDatagram> parse(ByteView frame, std::size_t wire_bytes);
  static std::optional<UdpDatagram> parse(ByteView frame) { return parse(frame, frame.size()); }
  // The same from the IP header on.
  static std::optional<UdpDatagram> parse_ip(ByteView ip_packet, std::size_t wire_bytes);

 private:
  bool read_ip(ByteView ip_packet, std::size_t wire_bytes);
};

}  // namespace weft::roce
