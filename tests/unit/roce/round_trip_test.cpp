// What the builder writes, the view reads back: every opcode, both families, every VLAN stack, every pad.
#include <algorithm>

#include <gtest/gtest.h>

#include "agent/roce/builder.h"
#include "agent/roce/view.h"
#include "tests/support/exact_buffer.h"
#include "tests/support/random_packet.h"
#include "tests/support/seed.h"

namespace weft::roce {
namespace {

std::uint32_t ones_complement_sum(ByteView bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2)
    sum += load_be16(bytes.data() + i);
  while (sum > 0xffff)
    sum = (sum & 0xffff) + (sum >> 16);
  return sum;
}

template <class T>
std::optional<T> when(bool present, T value) {
  return present ? std::optional<T>(value) : std::nullopt;
}

void expect_same_bth(const Bth& found, const Bth& sent) {
  EXPECT_EQ(found.opcode, sent.opcode);
  EXPECT_EQ(found.solicited_event, sent.solicited_event);
  EXPECT_EQ(found.mig_req, sent.mig_req);
  EXPECT_EQ(found.pad_bytes, sent.pad_bytes);
  EXPECT_EQ(found.pkey, sent.pkey);
  EXPECT_EQ(found.fecn, sent.fecn);
  EXPECT_EQ(found.becn, sent.becn);
  EXPECT_EQ(found.dest_qpn, sent.dest_qpn);
  EXPECT_EQ(found.ack_req, sent.ack_req);
  EXPECT_EQ(found.psn, sent.psn);
}

void expect_same_extensions(const PacketView& view, const PacketHeaders& sent) {
  const OpcodeInfo& op = view.op();
  EXPECT_EQ(view.deth(), when(op.has(kExtDeth), sent.deth));
  EXPECT_EQ(view.reth(), when(op.has(kExtReth), sent.reth));
  EXPECT_EQ(view.aeth(), when(op.has(kExtAeth), sent.aeth));
  EXPECT_EQ(view.atomic_eth(), when(op.has(kExtAtomicEth), sent.atomic_eth));
  EXPECT_EQ(view.atomic_ack_original(), when(op.has(kExtAtomicAckEth), sent.atomic_ack_original));
  EXPECT_EQ(view.feth(), when(op.has(kExtFeth), sent.feth));
  EXPECT_EQ(view.imm(), when(op.has(kExtImm), sent.imm));
  EXPECT_EQ(view.ieth_rkey(), when(op.has(kExtIeth), sent.ieth_rkey));
}

void expect_same_path(const PacketView& view, ByteView frame, const PacketPath& sent) {
  EXPECT_TRUE(std::ranges::equal(frame.first(6), sent.dst_mac));
  EXPECT_TRUE(std::ranges::equal(frame.subspan(6, 6), sent.src_mac));
  EXPECT_EQ(view.vlans(), sent.vlans);
  EXPECT_EQ(view.ipv6(), sent.src.ipv6);
  EXPECT_EQ(view.src_address(), sent.src);
  EXPECT_EQ(view.dst_address(), sent.dst);
  EXPECT_EQ(view.tos(), sent.tos);
  EXPECT_EQ(view.dscp(), sent.tos >> 2);
  EXPECT_EQ(view.ecn(), sent.tos & 3);
  EXPECT_EQ(view.udp_source_port(), sent.udp_source_port);
  const ByteView ip = view.ip_packet();
  if (view.ipv6()) {
    EXPECT_EQ(load_be32(ip.data()) & 0xfffff, sent.flow_label);
    EXPECT_EQ(ip[7], sent.ttl);
  } else {
    EXPECT_EQ(ones_complement_sum(ip.first(kIpv4Bytes)), 0xffffU) << "IPv4 header checksum";
    EXPECT_EQ(load_be16(ip.data() + 4), sent.ip_id);
    EXPECT_EQ(load_be16(ip.data() + 6), sent.dont_fragment ? 0x4000 : 0);
    EXPECT_EQ(ip[8], sent.ttl);
  }
  EXPECT_EQ(load_be16(frame.data() + view.bth_offset() - 2), 0) << "UDP checksum";
}

void expect_round_trip(const test::RandomPacket& sent) {
  const Bytes built = sent.frame();
  const test::ExactBuffer buffer(built);
  const ByteView frame = buffer.view();
  const auto view = PacketView::parse(frame);
  ASSERT_TRUE(view) << describe(view.error());
  expect_same_bth(view->bth(), sent.headers.bth);
  expect_same_extensions(*view, sent.headers);
  expect_same_path(*view, frame, sent.path);
  EXPECT_TRUE(std::ranges::equal(view->payload(), sent.payload));
  EXPECT_EQ(view->payload_bytes(), sent.payload.size());
  EXPECT_EQ(view->frame_bytes(), frame.size());
  EXPECT_EQ(frame.size(), frame_bytes_for(sent.path, sent.headers.bth.opcode, sent.payload.size()));
  EXPECT_TRUE(view->complete());
  EXPECT_TRUE(view->icrc_ok());

  const FlowKey key = view->flow_key();
  EXPECT_EQ(key.src, sent.path.src);
  EXPECT_EQ(key.dst, sent.path.dst);
  EXPECT_EQ(key.dest_qpn, sent.headers.bth.dest_qpn);
  EXPECT_EQ(key.response, view->op().is_response());
  EXPECT_EQ(key.vlan_count, sent.path.vlans.count);
  for (std::size_t i = 0; i < kMaxVlanTags; ++i)
    EXPECT_EQ(key.vids[i], i < key.vlan_count ? sent.path.vlans.tags[i].tci & 0xfff : 0);

  const auto from_ip = PacketView::parse_ip(view->ip_packet());
  ASSERT_TRUE(from_ip) << describe(from_ip.error());
  EXPECT_EQ(from_ip->psn(), view->psn());
  EXPECT_EQ(from_ip->fingerprint(), view->fingerprint());
  EXPECT_TRUE(from_ip->icrc_ok());
}

TEST(RoundTrip, EveryOpcodeFamilyVlanStackAndPad) {
  Rng rng = test::rng(1);
  for (const OpcodeInfo& op : opcode_table()) {
    for (const bool ipv6 : {false, true}) {
      for (std::uint8_t vlans = 0; vlans <= kMaxVlanTags; ++vlans) {
        for (const std::size_t payload_bytes : {0, 1, 2, 3, 4, 5, 255, 256, 1024, 4094, 4096}) {
          if (!op.carries_payload && payload_bytes != 0) continue;
          SCOPED_TRACE(testing::Message() << op.name << (ipv6 ? " IPv6 " : " IPv4 ") << int{vlans}
                                          << " tags, payload " << payload_bytes);
          expect_round_trip(test::random_packet(rng, op, ipv6, vlans, payload_bytes));
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(RoundTrip, RandomPackets) {
  Rng rng = test::rng(2);
  for (int i = 0; i < 2000; ++i) {
    expect_round_trip(test::random_packet(rng, 4200));
    if (HasFailure()) return;
  }
}

TEST(RoundTrip, TheLargestIpPacketsFit) {
  Rng rng = test::rng(3);
  const OpcodeInfo& op = opcode_info(Opcode::kRcSendOnly);
  expect_round_trip(test::random_packet(rng, op, false, 2, 65535 - 20 - 8 - 12 - 4 - 3));
  expect_round_trip(test::random_packet(rng, op, true, 2, 65532 - 8 - 12 - 4));
}

}  // namespace
}  // namespace weft::roce
