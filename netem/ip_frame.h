// Just enough of any Ethernet frame for a WAN: where its network packet starts, how long that is, and what
// a WAN writes into it. Frames that are not IP count from behind their Ethernet header.
#pragma once

#include <cstddef>
#include <cstdint>

#include "agent/base/bytes.h"

namespace weft::netem {

struct IpFrame {
  enum class Family : std::uint8_t { kNone, kIpv4, kIpv6 };
  Family family = Family::kNone;
  std::size_t l3_offset = 0;
  std::uint32_t ip_bytes = 0;  // by the IP header, never beyond the frame; padding is not counted
  bool ect = false;            // ECN field is ECT(0) or ECT(1)

  // The frame has at least an Ethernet header.
  static IpFrame locate(ByteView frame);

  // Destination port of an unfragmented UDP packet without options, else 0; with the payload's bytes.
  struct Udp {
    std::uint16_t destination_port = 0;
    ByteView payload;
  };
  Udp udp(ByteView frame) const;
};

// Sets the ECN field to CE and, for IPv4, the header checksum (RFC 3168). Only for frames with `ect`.
void mark_ce(const IpFrame& ip, MutableByteView frame);

// Sets the DSCP to 0 and, for IPv4, the header checksum; the ECN field stays. Headers with options, and frames that are
// not IP, are left alone.
void bleach_dscp(const IpFrame& ip, MutableByteView frame);

// Flips one bit, counted from l3_offset.
void flip_bit(const IpFrame& ip, MutableByteView frame, std::uint32_t bit);

}  // namespace weft::netem
