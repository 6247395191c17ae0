// The headers below the transport of a data frame, kept to send a Weft packet along the same path: MACs, VLAN
// tags, IP addresses, DSCP, TTL, flow label and UDP source port are the data's (ECMP hashes them), the UDP
// destination port and the lengths are the Weft packet's.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "agent/base/bytes.h"
#include "agent/roce/builder.h"
#include "agent/roce/flow_key.h"
#include "agent/roce/headers.h"
#include "agent/roce/udp_datagram.h"
#include "agent/roce/view.h"

namespace weft::recovery {

class PathHeaders {
 public:
  PathHeaders() = default;
  PathHeaders(ByteView frame, const roce::PacketView& view)
      : bytes_used_(static_cast<std::uint8_t>(view.bth_offset())),
        l3_offset_(static_cast<std::uint8_t>(view.l3_offset())),
        ipv6_(view.ipv6()) {
    std::memcpy(bytes_.data(), frame.data(), bytes_used_);
  }
  // Of a datagram in `frame`.
  PathHeaders(ByteView frame, const roce::UdpDatagram& datagram)
      : bytes_used_(static_cast<std::uint8_t>(datagram.payload.data() - frame.data())),
        l3_offset_(
            static_cast<std::uint8_t>(roce::kEthernetBytes + datagram.vlans.count * roce::kVlanTagBytes)),
        ipv6_(datagram.src.ipv6) {
    std::memcpy(bytes_.data(), frame.data(), bytes_used_);
  }

  bool known() const { return bytes_used_ != 0; }
  bool ipv6() const { return ipv6_; }
  ByteView bytes() const { return ByteView(bytes_).first(bytes_used_); }
  std::uint16_t udp_source_port() const { return load_be16(bytes_.data() + bytes_used_ - roce::kUdpBytes); }
  std::size_t frame_header_bytes() const { return bytes_used_; }  // up to and including UDP
  std::size_t ip_and_udp_bytes() const { return bytes_used_ - l3_offset_; }
  std::size_t ethernet_bytes() const { return l3_offset_; }  // with VLAN tags
  std::size_t vlan_bytes() const { return l3_offset_ - roce::kEthernetBytes; }

  // The key of the flow of a packet that was carried inside a Weft packet with these headers.
  roce::FlowKey flow_key(const roce::PacketView& carried) const {
    roce::FlowKey key = carried.flow_key();
    key.vlan_count = static_cast<std::uint8_t>(vlan_bytes() / roce::kVlanTagBytes);
    for (std::size_t i = 0; i < key.vlan_count; ++i) {
      const std::uint8_t* tci = bytes_.data() + 2 * roce::MacAddress().size() + i * roce::kVlanTagBytes + 2;
      key.vids[i] = load_be16(tci) & 0x0fff;
    }
    return key;
  }

  // Writes the headers in front of a UDP payload that is already in the frame, up to its end: lengths, IPv4
  // header checksum and UDP checksum are right, ECN says Not-ECT (a CE mark on a repair would tell nobody).
  void finish_frame(MutableByteView frame, std::uint16_t udp_destination_port, std::uint16_t ip_id) const;

 private:
  static constexpr std::size_t kMaxBytes =
      roce::kEthernetBytes + roce::kMaxVlanTags * roce::kVlanTagBytes + roce::kIpv6Bytes + roce::kUdpBytes;
  std::array<std::uint8_t, kMaxBytes> bytes_{};
  std::uint8_t bytes_used_ = 0;
  std::uint8_t l3_offset_ = 0;
  bool ipv6_ = false;
};

}  // namespace weft::recovery
