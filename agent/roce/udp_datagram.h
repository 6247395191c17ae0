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
  ByteView payload;          // into the frame

  // nullopt for anything else, and when the lengths do not agree with each other or the frame. Checksums are
  // not looked at.
  static std::optional<UdpDatagram> parse(ByteView frame);
};

}  // namespace weft::roce
