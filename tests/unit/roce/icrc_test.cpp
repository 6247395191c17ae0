// The ICRC against a bit-by-bit CRC written from the standard, and the invariance it promises.
#include "agent/roce/icrc.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "agent/roce/builder.h"
#include "agent/roce/view.h"
#include "tests/support/random_packet.h"
#include "tests/support/seed.h"

namespace weft::roce {
namespace {

std::uint32_t slow_crc32(ByteView bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const std::uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320U : 0U);
  }
  return ~crc;
}

// Annex A17.3.3 by hand: eight 0xff bytes, the packet with its variant fields as ones, without the ICRC.
std::uint32_t reference_icrc(bool ipv6, ByteView ip_packet) {
  Bytes covered(8 + ip_packet.size() - 4, 0xff);
  std::copy(ip_packet.begin(), ip_packet.end() - 4, covered.begin() + 8);
  const auto ones = [&](std::size_t offset) { covered[8 + offset] = 0xff; };
  if (ipv6) {
    covered[8] |= 0x0f;
    for (const std::size_t offset : {1, 2, 3, 7, 46, 47, 52})
      ones(offset);
  } else {
    for (const std::size_t offset : {1, 8, 10, 11, 26, 27, 32})
      ones(offset);
  }
  return slow_crc32(covered);
}

TEST(Icrc, CrcIsTheOneOfZlib) {
  const std::string_view text = "123456789";
  const Bytes bytes(text.begin(), text.end());
  EXPECT_EQ(slow_crc32(bytes), 0xcbf43926U);
}

TEST(Icrc, AgreesWithTheReference) {
  Rng rng = test::rng(1);
  for (int i = 0; i < 300; ++i) {
    const Bytes frame = test::random_packet(rng, 4096).frame();
    const auto view = PacketView::parse(frame);
    ASSERT_TRUE(view);
    ASSERT_EQ(view->icrc_expected(), reference_icrc(view->ipv6(), view->ip_packet())) << view->op().name;
    ASSERT_EQ(view->icrc_found(), view->icrc_expected());
  }
}

TEST(Icrc, WireOrderIsLeastSignificantByteFirst) {
  const auto wire = icrc_to_wire(0x11223344);
  EXPECT_EQ(to_hex(wire), "44332211");
  EXPECT_EQ(icrc_from_wire(wire.data()), 0x11223344U);
}

// Bits that routers and switches may change on the way, as (byte, mask) counted from the frame's start.
std::vector<std::uint8_t> exempt_mask(const PacketView& view) {
  std::vector<std::uint8_t> mask(view.frame_bytes(), 0);
  std::fill_n(mask.begin(), view.l3_offset(), std::uint8_t{0xff});  // MACs, VLAN tags, EtherType
  const auto free = [&](std::size_t offset, std::uint8_t bits) { mask[view.l3_offset() + offset] = bits; };
  if (view.ipv6()) {
    free(0, 0x0f);
    free(1, 0xff);
    free(2, 0xff);
    free(3, 0xff);
    free(7, 0xff);
  } else {
    free(1, 0xff);
    free(8, 0xff);
    free(10, 0xff);
    free(11, 0xff);
  }
  mask[view.bth_offset() - 2] = mask[view.bth_offset() - 1] = 0xff;  // UDP checksum
  mask[view.bth_offset() + 4] = 0xff;                                // FECN, BECN, reserved
  return mask;
}

TEST(Icrc, EveryBitIsCoveredOrExemptAsTheStandardSays) {
  Rng rng = test::rng(2);
  for (const OpcodeInfo& op : opcode_table()) {
    for (const bool ipv6 : {false, true}) {
      Bytes frame = test::random_packet(rng, op, ipv6, 2, 37).frame();
      const auto view = PacketView::parse(frame);
      ASSERT_TRUE(view);
      const std::vector<std::uint8_t> exempt = exempt_mask(*view);
      const std::size_t l3 = view->l3_offset();
      for (std::size_t bit = 0; bit < frame.size() * 8; ++bit) {
        const std::size_t byte = bit / 8;
        const auto mask = static_cast<std::uint8_t>(1U << bit % 8);
        frame[byte] ^= mask;
        const ByteView ip = ByteView(frame).subspan(l3);
        const bool still_ok =
            icrc_of(ipv6, ip.first(ip.size() - 4)) == icrc_from_wire(&frame[frame.size() - 4]);
        frame[byte] ^= mask;
        ASSERT_EQ(still_ok, (exempt[byte] & mask) != 0) << op.name << " byte " << byte - l3 << " of IP";
      }
    }
  }
}

TEST(Icrc, PiecesGiveTheSameValue) {
  Rng rng = test::rng(3);
  for (int i = 0; i < 500; ++i) {
    const Bytes frame = test::random_packet(rng, 3000).frame();
    const auto view = PacketView::parse(frame);
    ASSERT_TRUE(view);
    const ByteView covered = view->ip_packet().first(view->ip_packet_bytes() - kIcrcBytes);
    const std::size_t headers = (view->ipv6() ? kIpv6Bytes : kIpv4Bytes) + kUdpBytes + kBthBytes;
    std::size_t cut = rng.between(headers, covered.size());
    Icrc icrc(view->ipv6(), covered.first(cut));
    while (cut < covered.size()) {
      const std::size_t piece = rng.between(0, covered.size() - cut);
      icrc.update(covered.subspan(cut, piece));
      cut += piece;
    }
    ASSERT_EQ(icrc.value(), view->icrc_expected());
  }
}

TEST(Icrc, ExemptFieldsAsZerosAreTheSameForEveryPathOfAPacket) {
  Rng rng = test::rng(4);
  for (int i = 0; i < 200; ++i) {
    test::RandomPacket packet = test::random_packet(rng, 600);
    const auto canonical = [&] {
      const Bytes frame = packet.frame();
      const auto view = PacketView::parse(frame);
      Bytes ip(view->ip_packet().begin(), view->ip_packet().end());
      set_exempt_fields(view->ipv6(), ip, 0);
      return ip;
    };
    const Bytes before = canonical();
    packet.path.tos ^= 0xff;
    packet.path.ttl ^= 0xff;
    packet.path.flow_label ^= 0xfffff;
    packet.path.vlans.count = 0;
    packet.headers.bth.fecn = !packet.headers.bth.fecn;
    packet.headers.bth.becn = !packet.headers.bth.becn;
    ASSERT_EQ(canonical(), before);
    packet.path.udp_source_port ^= 1;
    ASSERT_NE(canonical(), before);
  }
}

}  // namespace
}  // namespace weft::roce
