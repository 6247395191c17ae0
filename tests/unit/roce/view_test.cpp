// The view on bytes that are cut, broken or somebody else's.
#include "agent/roce/view.h"

#include <functional>

#include <gtest/gtest.h>

#include "agent/roce/builder.h"
#include "tests/support/exact_buffer.h"
#include "tests/support/random_packet.h"
#include "tests/support/seed.h"
#include "tests/support/site_addresses.h"

namespace weft::roce {
namespace {

// Touches everything a view offers; AddressSanitizer does the judging.
void read_everything(const PacketView& view) {
  std::size_t sink = view.bth().pkey + view.tos() + view.ip_packet().size() + view.payload().size();
  sink += view.reth().has_value() + view.aeth().has_value() + view.atomic_eth().has_value() +
          view.deth().has_value() + view.imm().has_value() + view.feth().has_value() +
          view.ieth_rkey().has_value() + view.atomic_ack_original().has_value();
  sink += std::hash<FlowKey>{}(view.flow_key());
  for (const std::uint8_t byte : view.payload())
    sink += byte;
  if (view.complete()) sink += view.icrc_found() + view.icrc_expected() + view.fingerprint();
  volatile std::size_t keep = sink;
  static_cast<void>(keep);
}

TEST(View, EveryTruncationIsSafeAndRefused) {
  Rng rng = test::rng(1);
  for (const OpcodeInfo& op : opcode_table()) {
    for (const bool ipv6 : {false, true}) {
      const Bytes frame =
          test::random_packet(rng, op, ipv6, static_cast<std::uint8_t>(rng.below(3)), 41).frame();
      for (std::size_t length = 0; length < frame.size(); ++length) {
        const test::ExactBuffer cut(ByteView(frame).first(length));
        ASSERT_FALSE(PacketView::parse(cut.view())) << op.name << " cut to " << length;
      }
    }
  }
}

TEST(View, ASnapLengthCutKeepsTheHeadersAndHidesTheIcrc) {
  Rng rng = test::rng(2);
  for (const OpcodeInfo& op : opcode_table()) {
    for (const bool ipv6 : {false, true}) {
      const auto packet = test::random_packet(rng, op, ipv6, static_cast<std::uint8_t>(rng.below(3)), 41);
      const Bytes frame = packet.frame();
      const auto whole = PacketView::parse(frame);
      ASSERT_TRUE(whole);
      for (std::size_t length = 0; length < frame.size(); ++length) {
        const test::ExactBuffer cut(ByteView(frame).first(length));
        const auto view = PacketView::parse(cut.view(), frame.size());
        ASSERT_EQ(view.has_value(), length >= whole->payload_offset()) << op.name << " cut to " << length;
        if (!view) {
          ASSERT_EQ(view.error(), Reject::kTruncated);
          continue;
        }
        read_everything(*view);
        ASSERT_FALSE(view->complete());
        ASSERT_FALSE(view->icrc_ok());
        ASSERT_EQ(view->payload_bytes(), packet.payload.size());
        ASSERT_EQ(view->payload().size(), std::min(length - view->payload_offset(), packet.payload.size()));
        ASSERT_EQ(view->ip_packet_bytes(), whole->ip_packet_bytes());
        ASSERT_EQ(view->flow_key(), whole->flow_key());
      }
    }
  }
}

TEST(View, EthernetPaddingIsNotPartOfThePacket) {
  Rng rng = test::rng(3);
  for (int i = 0; i < 200; ++i) {
    const Bytes frame = test::random_packet(rng, 64).frame();
    Bytes padded = frame;
    padded.resize(frame.size() + rng.between(1, 20), 0x5a);
    const auto view = PacketView::parse(padded);
    ASSERT_TRUE(view);
    ASSERT_TRUE(view->icrc_ok());
    ASSERT_EQ(view->frame_bytes(), frame.size());
    ASSERT_EQ(view->ip_packet().size(), frame.size() - view->l3_offset());
  }
}

// One valid RC WRITE ONLY frame with a payload of 64 bytes, spoilt by `spoil`, and what the view says of it.
Reject reject_after(bool ipv6, const std::function<void(Bytes&)>& spoil) {
  const PacketPath path = test::path_from_a_to_b(ipv6);
  PacketHeaders headers;
  headers.bth.opcode = Opcode::kRcRdmaWriteOnly;
  Bytes frame = build_frame(path, headers, Bytes(64, 0x11));
  EXPECT_TRUE(PacketView::parse(frame));
  spoil(frame);
  const test::ExactBuffer buffer(frame);
  const auto view = PacketView::parse(buffer.view());
  EXPECT_FALSE(view);
  return view ? Reject::kNotIp : view.error();
}

TEST(View, SaysWhyItRefusesIpv4) {
  const auto reject = [](const std::function<void(Bytes&)>& spoil) { return reject_after(false, spoil); };
  EXPECT_EQ(reject([](Bytes& f) { store_be16(&f[12], 0x0806); }), Reject::kNotIp);
  EXPECT_EQ(reject([](Bytes& f) { f[14] = 0x65; }), Reject::kBadIpHeader);
  EXPECT_EQ(reject([](Bytes& f) { f[14] = 0x44; }), Reject::kBadIpHeader);
  EXPECT_EQ(reject([](Bytes& f) { f[14] = 0x46; }), Reject::kIpOptions);
  EXPECT_EQ(reject([](Bytes& f) { f[14 + 9] = 6; }), Reject::kNotUdp);
  EXPECT_EQ(reject([](Bytes& f) { f[14 + 6] |= 0x20; }), Reject::kFragment);  // more fragments
  EXPECT_EQ(reject([](Bytes& f) { f[14 + 7] = 1; }), Reject::kFragment);      // an offset
  EXPECT_EQ(reject([](Bytes& f) { store_be16(&f[34 + 2], 53); }), Reject::kNotRocePort);
  EXPECT_EQ(reject([](Bytes& f) { store_be16(&f[34], kRoceUdpPort), store_be16(&f[36], 9); }),
            Reject::kNotRocePort);  // the source port does not matter
  EXPECT_EQ(reject([](Bytes& f) { store_be16(&f[16], load_be16(&f[16]) + 1); }), Reject::kBadIpLength);
  EXPECT_EQ(reject([](Bytes& f) { store_be16(&f[16], 43); }), Reject::kBadIpLength);
  EXPECT_EQ(reject([](Bytes& f) { store_be16(&f[16], load_be16(&f[16]) - 1); }), Reject::kBadUdpLength);
  EXPECT_EQ(reject([](Bytes& f) { store_be16(&f[38], load_be16(&f[38]) + 4); }), Reject::kBadUdpLength);
}

TEST(View, SaysWhyItRefusesIpv6) {
  const auto reject = [](const std::function<void(Bytes&)>& spoil) { return reject_after(true, spoil); };
  EXPECT_EQ(reject([](Bytes& f) { f[14] = 0x45; }), Reject::kBadIpHeader);
  EXPECT_EQ(reject([](Bytes& f) { f[14 + 6] = 44; }), Reject::kNotUdp);  // a fragment header
  EXPECT_EQ(reject([](Bytes& f) { f[14 + 6] = 6; }), Reject::kNotUdp);
  EXPECT_EQ(reject([](Bytes& f) { store_be16(&f[18], load_be16(&f[18]) + 1); }), Reject::kBadIpLength);
  EXPECT_EQ(reject([](Bytes& f) { store_be16(&f[18], 0); }), Reject::kBadIpLength);  // a jumbogram
  EXPECT_EQ(reject([](Bytes& f) { store_be16(&f[18], load_be16(&f[18]) - 4); }), Reject::kBadUdpLength);
}

TEST(View, SaysWhyItRefusesTheTransport) {
  const auto reject = [](const std::function<void(Bytes&)>& spoil) { return reject_after(false, spoil); };
  EXPECT_EQ(reject([](Bytes& f) { f[42] = 0x15; }), Reject::kUnknownOpcode);
  EXPECT_EQ(reject([](Bytes& f) { f[42] = 0x80; }), Reject::kUnknownOpcode);
  EXPECT_EQ(reject([](Bytes& f) { f[43] |= 1; }), Reject::kBadTransportVersion);
  EXPECT_EQ(reject([](Bytes& f) { f[42] = 0x11; }), Reject::kBadPayloadLength);  // an ACK with a payload
  // Lengths that leave no room for the extensions, and for the pad.
  const auto shorten = [](Bytes& f, std::uint16_t udp_bytes) {
    store_be16(&f[16], static_cast<std::uint16_t>(udp_bytes + 20));
    store_be16(&f[38], udp_bytes);
    f.resize(34 + udp_bytes);
  };
  EXPECT_EQ(reject([&](Bytes& f) { shorten(f, 8 + 12 + 4); }), Reject::kBadPayloadLength);
  EXPECT_EQ(reject([&](Bytes& f) { shorten(f, 8 + 12 + 15 + 4); }), Reject::kBadPayloadLength);
  EXPECT_EQ(reject([&](Bytes& f) { shorten(f, 8 + 12 + 16 + 2 + 4), f[43] |= 0x30; }),
            Reject::kBadPayloadLength);
}

TEST(View, AThirdVlanTagIsNotOurs) {
  Rng rng = test::rng(4);
  Bytes frame = test::random_packet(rng, opcode_info(Opcode::kRcSendOnly), false, 2, 8).frame();
  const std::uint8_t tag[] = {0x81, 0x00, 0x00, 0x07};
  frame.insert(frame.begin() + 12, std::begin(tag), std::end(tag));
  EXPECT_EQ(PacketView::parse(frame).error(), Reject::kNotIp);
}

TEST(View, OnlyFaultsOfRoceCountAsMalformed) {
  for (const Reject r : {Reject::kNotIp, Reject::kNotUdp, Reject::kNotRocePort, Reject::kFragment,
                         Reject::kIpOptions, Reject::kUnknownOpcode}) {
    EXPECT_FALSE(is_malformed(r)) << describe(r);
  }
  for (const Reject r : {Reject::kTruncated, Reject::kBadIpHeader, Reject::kBadIpLength,
                         Reject::kBadUdpLength, Reject::kBadTransportVersion, Reject::kBadPayloadLength}) {
    EXPECT_TRUE(is_malformed(r)) << describe(r);
  }
}

// Random bytes and random damage: nothing is read out of bounds, whatever is said of the frame.
TEST(View, DamageIsSafe) {
  Rng rng = test::rng(5);
  for (int i = 0; i < 20000; ++i) {
    Bytes frame = test::random_packet(rng, 80).frame();
    for (std::uint64_t flips = rng.between(1, 4); flips > 0; --flips)
      frame[rng.below(frame.size())] ^= static_cast<std::uint8_t>(1U << rng.below(8));
    frame.resize(rng.between(0, frame.size()));
    const test::ExactBuffer buffer(frame);
    if (const auto view = PacketView::parse(buffer.view(), frame.size() + rng.below(100))) {
      read_everything(*view);
    }
    if (const auto view = PacketView::parse_ip(buffer.view())) read_everything(*view);
  }
}

}  // namespace
}  // namespace weft::roce
