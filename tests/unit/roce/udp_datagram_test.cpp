#include "agent/roce/udp_datagram.h"

#include <gtest/gtest.h>

#include "agent/roce/builder.h"
#include "tests/support/site_addresses.h"

namespace weft::roce {
namespace {

constexpr std::uint16_t kPort = 4793;

Bytes datagram_frame(const PacketPath& path, ByteView payload) {
  Bytes frame(256, 0);
  const std::size_t udp = build_lower_headers(frame, path, kUdpBytes + payload.size());
  store_be16(frame.data() + udp, path.udp_source_port);
  store_be16(frame.data() + udp + 2, kPort);
  store_be16(frame.data() + udp + 4, static_cast<std::uint16_t>(kUdpBytes + payload.size()));
  std::copy(payload.begin(), payload.end(), frame.begin() + static_cast<std::ptrdiff_t>(udp + kUdpBytes));
  frame.resize(udp + kUdpBytes + payload.size());
  return frame;
}

PacketPath path_of(bool ipv6, std::uint8_t vlans) {
  PacketPath path = test::path_from_a_to_b(ipv6);
  path.vlans.count = vlans;
  for (std::uint8_t i = 0; i < vlans; ++i)
    path.vlans.tags[i].tci = static_cast<std::uint16_t>(100 + i);
  return path;
}

TEST(UdpDatagram, FindsWhatTheBuilderWrote) {
  const Bytes payload{1, 2, 3, 4, 5};
  for (const bool ipv6 : {false, true}) {
    for (std::uint8_t vlans = 0; vlans <= 2; ++vlans) {
      const PacketPath path = path_of(ipv6, vlans);
      Bytes frame = datagram_frame(path, payload);
      frame.resize(frame.size() + 7);  // Ethernet padding
      const auto datagram = UdpDatagram::parse(frame);
      ASSERT_TRUE(datagram);
      EXPECT_EQ(datagram->src, path.src);
      EXPECT_EQ(datagram->dst, path.dst);
      EXPECT_EQ(datagram->vlans, path.vlans);
      EXPECT_EQ(datagram->destination_port, kPort);
      EXPECT_EQ(datagram->source_port, path.udp_source_port);
      EXPECT_EQ(Bytes(datagram->payload.begin(), datagram->payload.end()), payload);
    }
  }
}

TEST(UdpDatagram, RefusesEveryTruncationAndWhatItCannotTrust) {
  for (const bool ipv6 : {false, true}) {
    const Bytes whole = datagram_frame(path_of(ipv6, 1), Bytes(9, 7));
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
      const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes));
      EXPECT_FALSE(UdpDatagram::parse(cut)) << bytes;
    }
    Bytes other = whole;
    other[18] ^= 0x10;  // IP version
    EXPECT_FALSE(UdpDatagram::parse(other));
  }
  Bytes fragment = datagram_frame(path_of(false, 0), Bytes(9, 7));
  fragment[20] |= 0x20;  // more fragments
  EXPECT_FALSE(UdpDatagram::parse(fragment));
  Bytes three_tags = datagram_frame(path_of(false, 2), Bytes(9, 7));
  store_be16(three_tags.data() + 20, kEtherTypeVlan);
  EXPECT_FALSE(UdpDatagram::parse(three_tags));
}

}  // namespace
}  // namespace weft::roce
