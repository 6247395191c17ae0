#include "agent/recovery/encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/encoder_rig.h"
#include "tests/support/seed.h"
#include "tests/support/wan_reader.h"

namespace weft::recovery {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using test::EncoderRig;
using test::WanReader;
using test::WriteFlow;
using testing::Each;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Time kPacketTime = microseconds(44);  // 1100 bytes at 200 Mbit/s
constexpr std::uint32_t kMiB = 1U << 20;

PolicyTable fixed(FixedCode code, CodeKind kind = CodeKind::kReedSolomon) {
  PolicyTable policy = PolicyTable::defaults();
  policy.fec.code = kind;
  policy.fec.max_overhead = 0.5;
  for (ClassPolicy& row : policy.classes) {
    if (row.name != "ack") row.fixed = code;
  }
  return policy;
}

WeftSender::Config generous() { return {.max_overhead = 0.5}; }

Tag tag_of(const PolicyTable& policy, std::string_view name, std::uint8_t level = 0) {
  return {.class_id = *policy.find(name), .level = level};
}

void send_message(EncoderRig& rig, WriteFlow& flow, std::uint32_t bytes, Tag tag) {
  for (const Bytes& frame : flow.message(bytes)) {
    rig.send(frame, tag);
    rig.advance(kPacketTime);
  }
}

wire::Feedback empty_feedback() {
  wire::Feedback feedback;
  feedback.period_us = 10000;
  return feedback;
}

wire::Feedback covering(const test::WanTraffic& wan, wire::StreamId stream, std::uint32_t ordinal) {
  wire::Feedback feedback = empty_feedback();
  for (const auto& announcement : wan.announcements) {
    for (const auto& flow : announcement.flows)
      feedback.confirmed_flows.push_back(flow.id);
  }
  feedback.covered.push_back({stream, ordinal});
  return feedback;
}

TEST(Encoder, ForwardsEveryFrameUnmodifiedAndInOrder) {
  EncoderRig rig(test::seed(), fixed({.k = 8, .r = 2, .interleave = 2}));
  WriteFlow flow(17);
  const auto frames = flow.message(40 * 1024);
  for (const Bytes& frame : frames)
    rig.send(frame, {});
  EXPECT_EQ(rig.wan().sources, frames);
  rig.advance(milliseconds(500));
  EXPECT_EQ(rig.wan().sources, frames);
  EXPECT_EQ(rig.pool.in_use(), 0U);
  EXPECT_EQ(rig.count(Event::kSourceSent), frames.size());
}

struct Shape {
  FixedCode code;
  CodeKind kind;
  bool ipv6;
};

class EncoderShapes : public testing::TestWithParam<Shape> {};

TEST_P(EncoderShapes, ListsAreExactAndRepairsGiveBackWhatIsTaken) {
  const Shape& shape = GetParam();
  EncoderRig rig(test::seed(), fixed(shape.code, shape.kind), EncoderLimits(), generous());
  WriteFlow a(17, shape.ipv6);
  WriteFlow b(18, shape.ipv6);
  const auto of_a = a.message(70 * 1024 + 5);
  const auto of_b = b.message(50 * 1024 + 9);
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    rig.send(of_a[i], {});
    if (i < of_b.size()) rig.send(of_b[i], {});
    rig.advance(kPacketTime);
  }
  rig.advance(milliseconds(30));

  const WanReader reader(rig.wan());
  std::vector<const Bytes*> by_ordinal(of_a.size() + of_b.size());
  Rng rng = test::rng(1);
  for (const auto& [name, block] : reader.blocks()) {
    ASSERT_EQ(block.sources.size(), block.shape.columns);
    for (std::size_t i = 0; i < block.sources.size(); ++i) {
      const std::size_t ordinal = std::get<2>(name) + i * block.interleave + std::get<3>(name);
      ASSERT_LT(ordinal, by_ordinal.size());
      ASSERT_EQ(by_ordinal[ordinal], nullptr);
      by_ordinal[ordinal] = reader.frame_of(block.sources[i]);
      ASSERT_NE(by_ordinal[ordinal], nullptr);
    }
    // Reed-Solomon: any as many as there are rows; XOR: one.
    const std::size_t losses =
        shape.kind == CodeKind::kXor ? 1 : std::min<std::size_t>(block.rows.size(), block.sources.size());
    std::set<const Bytes*> lost;
    while (lost.size() < losses)
      lost.insert(reader.frame_of(block.sources[rng.below(block.sources.size())]));
    EXPECT_TRUE(reader.recovers(
        block, [&](const Bytes& frame) { return lost.contains(&frame); }, [](unsigned) { return false; }));
  }
  // In sending order, nothing twice and nothing left out.
  for (std::size_t i = 0; i < by_ordinal.size(); ++i)
    ASSERT_EQ(by_ordinal[i], &rig.wan().sources[i]) << "ordinal " << i;
  EXPECT_EQ(rig.pool.in_use(), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, EncoderShapes,
    testing::Values(Shape{{.k = 32, .r = 8, .interleave = 1}, CodeKind::kReedSolomon, false},
                    Shape{{.k = 16, .r = 4, .interleave = 4}, CodeKind::kReedSolomon, true},
                    Shape{{.k = 3, .r = 3, .interleave = 7}, CodeKind::kReedSolomon, false},
                    Shape{{.k = 224, .r = 1, .interleave = 1}, CodeKind::kReedSolomon, false},
                    Shape{{.k = 64, .r = 8, .interleave = 1}, CodeKind::kXor, false},
                    Shape{{.k = 1, .r = 1, .interleave = 1}, CodeKind::kReedSolomon, false}));

TEST(Encoder, TheTailOfAMessageIsRepeatedUntilFeedbackCoversIt) {
  EncoderRig rig(test::seed(), fixed({.k = 32, .r = 4, .interleave = 1}));
  WriteFlow flow(17);
  send_message(rig, flow, 40 * 1024, {});
  rig.advance(milliseconds(50));
  const std::uint64_t once = rig.count(Event::kRepairSent);
  EXPECT_EQ(once, 8U);  // 32 packets with 4, then 8 packets with 4
  EXPECT_EQ(rig.count(Event::kGroupClosedFull), 1U);
  EXPECT_EQ(rig.count(Event::kGroupClosedMessageEnd), 1U);
  // Four rows have said it four times.
  EXPECT_EQ(rig.count(Event::kRepairResent), 0U);

  rig.feedback(covering(rig.wan(), {}, 40), milliseconds(30));
  rig.advance(milliseconds(1000));
  EXPECT_EQ(rig.count(Event::kRepairResent), 0U);

  // Nobody answers: a few more, then silence.
  send_message(rig, flow, 8 * 1024, {});
  rig.advance(milliseconds(5000));
  EXPECT_EQ(rig.count(Event::kRepairResent), 3U);
}

TEST(Encoder, ATailOfFewRowsIsToldAgainUnasked) {
  EncoderRig rig(test::seed(), fixed({.k = 32, .r = 2, .interleave = 1}));
  WriteFlow flow(17);
  send_message(rig, flow, 40 * 1024, {});
  rig.advance(milliseconds(20));
  EXPECT_EQ(rig.count(Event::kRepairSent), 4U);
  EXPECT_EQ(rig.count(Event::kRepairResent), 1U);
  rig.feedback(covering(rig.wan(), {}, 40), milliseconds(30));
  rig.advance(milliseconds(1000));
  EXPECT_EQ(rig.count(Event::kRepairResent), 1U);
}

TEST(Encoder, AGroupThatWasFullAtTheMessagesEndIsATailToo) {
  EncoderRig rig(test::seed(), fixed({.k = 16, .r = 2, .interleave = 1}));
  WriteFlow flow(17);
  send_message(rig, flow, 16 * 1024, {});
  rig.advance(milliseconds(20));
  EXPECT_EQ(rig.count(Event::kGroupClosedFull), 1U);
  EXPECT_EQ(rig.count(Event::kRepairSent), 2U);
  EXPECT_EQ(rig.count(Event::kRepairResent), 1U);
}

TEST(Encoder, ATailIsSeenEvenAfterAllItsRepairsHaveGone) {
  EncoderRig rig(test::seed(), fixed({.k = 16, .r = 1, .interleave = 1}));
  WriteFlow flow(17);
  send_message(rig, flow, 16 * 1024, {});
  rig.advance(milliseconds(20));
  ASSERT_THAT(rig.wan().repairs, SizeIs(2));
  EXPECT_FALSE(rig.wan().repairs[0].symbol.empty());
  // Losses are rare: what was sent is said again, the symbol is not.
  EXPECT_TRUE(rig.wan().repairs[1].symbol.empty());
  EXPECT_THAT(rig.wan().repairs[1].value.sources, SizeIs(16));
}

TEST(Encoder, RepairsOfAFullGroupAreSpreadOverTheNext) {
  EncoderRig rig(test::seed(), fixed({.k = 32, .r = 8, .interleave = 2}), EncoderLimits(), generous());
  WriteFlow flow(17);
  const auto frames = flow.message(kMiB);
  for (std::size_t i = 0; i < 64; ++i) {
    rig.send(frames[i], {});
    rig.advance(kPacketTime);
  }
  rig.wan();
  EXPECT_LE(rig.count(Event::kRepairSent), 3U);
  for (std::size_t i = 64; i < 96; ++i) {
    rig.send(frames[i], {});
    rig.advance(kPacketTime);
    rig.wan();
  }
  EXPECT_EQ(rig.count(Event::kRepairSent), 16U);
  // One row of every block before the next row.
  const auto& repairs = rig.wan().repairs;
  for (std::size_t i = 0; i < repairs.size(); ++i) {
    EXPECT_EQ(repairs[i].value.index, i / 2);
    EXPECT_EQ(repairs[i].value.block, i % 2);
  }
}

TEST(Encoder, AStalledSenderDoesNotLeaveAGroupOpen) {
  EncoderRig rig(test::seed(), fixed({.k = 32, .r = 4, .interleave = 4}));
  WriteFlow flow(17);
  const auto frames = flow.message(kMiB);
  for (std::size_t i = 0; i < 10; ++i)
    rig.send(frames[i], {});
  rig.advance(milliseconds(6));
  EXPECT_EQ(rig.count(Event::kGroupClosedTimer), 1U);
  EXPECT_GT(rig.count(Event::kRepairSent), 0U);
}

TEST(Encoder, CleanLinkCostsUnderOnePercent) {
  EncoderRig rig(test::seed(), fixed({.k = 224, .r = 1, .interleave = 1}));
  WriteFlow flow(17);
  std::uint32_t ordinal = 0;
  for (const std::uint32_t bytes : {kMiB, 4 * kMiB, kMiB}) {
    send_message(rig, flow, bytes, tag_of(rig.policy, "dp-high"));
    rig.advance(milliseconds(30));
    ordinal += bytes / 1024;
    rig.feedback(covering(rig.wan(), {tag_of(rig.policy, "dp-high").class_id, 0}, ordinal), milliseconds(30));
    // An ACK of the other direction's traffic, guarded.
    rig.send(flow.acknowledge(roce::Psn(ordinal)), {});
    rig.advance(milliseconds(30));
  }
  const auto& wan = rig.wan();
  const double share =
      static_cast<double>(wan.overhead_bytes + wan.control_bytes) / static_cast<double>(wan.source_bytes);
  EXPECT_LT(share, 0.0095);
}

TEST(Encoder, AGuardedAcknowledgementThatGivesWayIsCounted) {
  EncoderLimits limits;
  limits.max_guarded_flows = 1;
  EncoderRig rig(test::seed(), PolicyTable::defaults(), limits);
  for (const std::uint32_t qpn : {17U, 18U, 18U})
    rig.send(WriteFlow(qpn).acknowledge(roce::Psn(5)), {});
  EXPECT_EQ(rig.counters.total(Event::kAckCopyEvicted), 1U);
}

TEST(Encoder, UncodedStreamsAreListedByManifests) {
  PolicyTable policy = fixed({.k = 32, .r = 4, .interleave = 1});
  const ClassId dp_low = *policy.find("dp-low");
  for (LevelPolicy& level : policy.classes[dp_low].levels)
    level.target_residual = std::nullopt;
  EncoderRig rig(test::seed(), policy);
  WriteFlow flow(17);
  const roce::Psn first = flow.psn;
  const auto frames = flow.message(100 * 1024, 0xabcd);
  for (const Bytes& frame : frames) {
    rig.send(frame, {.class_id = dp_low});
    rig.advance(kPacketTime);
  }
  rig.advance(milliseconds(20));

  const auto& wan = rig.wan();
  EXPECT_THAT(wan.repairs, IsEmpty());
  std::set<std::uint32_t> ordinals;
  bool described = false;
  for (const wire::Manifest& manifest : wan.manifests) {
    std::uint32_t ordinal = manifest.first_ordinal;
    for (const auto& run : manifest.runs) {
      for (std::uint32_t i = 0; i < run.packets; ++i, ++ordinal) {
        EXPECT_EQ(run.first_psn + i, first + ordinal);
        ordinals.insert(ordinal);
      }
    }
    for (const auto& descriptor : manifest.descriptors) {
      EXPECT_EQ(descriptor.first_psn, first);
      EXPECT_EQ(descriptor.reth.length_bytes, 100U * 1024);
      EXPECT_EQ(descriptor.pmtu_bytes, 1024);
      if (descriptor.end) {
        described = true;
        EXPECT_EQ(descriptor.end->imm, 0xabcdU);
      }
    }
  }
  EXPECT_THAT(ordinals, SizeIs(100));
  EXPECT_TRUE(described);
  // Before the gap it may have to fill: within a millisecond of the message's start.
  ASSERT_FALSE(wan.manifests.empty());
  EXPECT_THAT(wan.manifests.front().descriptors, SizeIs(1));
  EXPECT_LE(wan.manifests.front().runs.front().packets, 30);
  EXPECT_EQ(rig.count(Event::kManifestResent), 1U);
  rig.advance(milliseconds(3000));
  EXPECT_EQ(rig.count(Event::kManifestResent), 3U);
}

TEST(Encoder, OnlyMessagesThatMayBeFilledAreDescribed) {
  EncoderRig rig(test::seed(), fixed({.k = 32, .r = 4, .interleave = 1}));
  WriteFlow flow(17);
  send_message(rig, flow, 100 * 1024, tag_of(rig.policy, "exact"));
  send_message(rig, flow, 100 * 1024, tag_of(rig.policy, "pp", 0));
  send_message(rig, flow, 32 * 1024, tag_of(rig.policy, "pp", 5));
  rig.advance(milliseconds(20));
  EXPECT_THAT(rig.wan().manifests, IsEmpty());
  send_message(rig, flow, 100 * 1024, tag_of(rig.policy, "pp", 5));
  rig.advance(milliseconds(20));
  EXPECT_FALSE(rig.wan().manifests.empty());
}

TEST(Encoder, AnnouncesAtOnceAndAfterDoublingRoundTripsUntilConfirmed) {
  EncoderRig rig(test::seed(), fixed({.k = 32, .r = 4, .interleave = 1}));
  WriteFlow flow(17);
  rig.feedback(empty_feedback(), milliseconds(20));
  std::vector<Time> at;
  std::size_t seen = 0;
  const Time start = rig.now();
  for (int i = 0; i < 200; ++i) {
    rig.send(flow.message(1024).front(), {});
    rig.advance(milliseconds(1));
    for (; seen < rig.wan().announcements.size(); ++seen)
      at.push_back(rig.now() - start);
  }
  // 0, 20, 60, 140 ms; seen at the end of the millisecond.
  ASSERT_THAT(at, SizeIs(4));
  EXPECT_LE(at[0], milliseconds(1));
  EXPECT_NEAR(at[1].count(), 20e6, 2e6);
  EXPECT_NEAR(at[2].count(), 60e6, 3e6);
  EXPECT_NEAR(at[3].count(), 140e6, 4e6);
  rig.feedback(covering(rig.wan(), {}, 200), milliseconds(20));
  for (int i = 0; i < 400; ++i) {
    rig.send(flow.message(1024).front(), {});
    rig.advance(milliseconds(1));
  }
  EXPECT_THAT(rig.wan().announcements, SizeIs(4));
}

TEST(Encoder, AReusedQueuePairGetsANewIdAndEpoch) {
  EncoderRig rig(test::seed(), fixed({.k = 32, .r = 4, .interleave = 1}));
  WriteFlow flow(17);
  send_message(rig, flow, 1024, {});
  flow.psn = roce::Psn(1U << 23);
  send_message(rig, flow, 1024, {});
  const auto& announcements = rig.wan().announcements;
  ASSERT_THAT(announcements, SizeIs(2));
  EXPECT_NE(announcements[0].flows[0].id, announcements[1].flows[0].id);
  EXPECT_EQ(announcements[0].flows[0].epoch + 1, announcements[1].flows[0].epoch);
  EXPECT_EQ(announcements[0].flows[0].key, announcements[1].flows[0].key);
}

TEST(Encoder, FlowsBeyondTheCapAreForwardedAndCounted) {
  EncoderRig rig(test::seed(), fixed({.k = 32, .r = 4, .interleave = 1}), {.max_flows = 4});
  for (std::uint32_t qpn = 1; qpn <= 6; ++qpn) {
    WriteFlow flow(qpn);
    send_message(rig, flow, 2048, {});
  }
  EXPECT_EQ(rig.count(Event::kEncodeSkippedFlowCap), 4U);
  EXPECT_THAT(rig.wan().sources, SizeIs(12));
  EXPECT_EQ(rig.encoder.flows(), 4U);
}

TEST(Encoder, WhatDoesNotFitThePathGoesUncoded) {
  EncoderRig rig(test::seed(), fixed({.k = 32, .r = 4, .interleave = 1}), EncoderLimits(),
                 {.wan_mtu_bytes = 1180});
  WriteFlow flow(17);
  send_message(rig, flow, 20 * 1024, {});
  rig.advance(milliseconds(20));
  EXPECT_GT(rig.count(Event::kRepairSent), 0U);
  EXPECT_EQ(rig.count(Event::kEncodeSkippedTooLarge), 1U);  // the FIRST, 16 bytes longer than the others
  for (const auto& repair : rig.wan().repairs)
    EXPECT_LE(repair.symbol.size(), 1180U - 88 - 14);
}

TEST(Encoder, NothingIsAddedWithoutAPeer) {
  EncoderRig rig(test::seed(), fixed({.k = 8, .r = 2, .interleave = 1}));
  WriteFlow flow(17);
  rig.sessions.session(test::Side::kA).tick(rig.now() + std::chrono::seconds(5));
  ASSERT_FALSE(rig.sender.ready());
  rig.encoder.reset();
  send_message(rig, flow, 20 * 1024, {});
  rig.advance(milliseconds(100));
  EXPECT_EQ(rig.count(Event::kEncodeSkippedNoPeer), 20U);
  EXPECT_THAT(rig.wan().sources, SizeIs(20));
  EXPECT_THAT(rig.wan().repairs, IsEmpty());
  EXPECT_EQ(rig.pool.in_use(), 0U);
}

TEST(Encoder, ResetDropsWhatIsOpenAndAnnouncesAgain) {
  EncoderRig rig(test::seed(), fixed({.k = 32, .r = 4, .interleave = 1}));
  WriteFlow flow(17);
  send_message(rig, flow, 10 * 1024, {});
  rig.feedback(covering(rig.wan(), {}, 0), milliseconds(20));
  rig.encoder.reset();
  rig.advance(milliseconds(200));
  EXPECT_THAT(rig.wan().repairs, IsEmpty());
  EXPECT_THAT(rig.wan().announcements, SizeIs(1));
  send_message(rig, flow, 10 * 1024, {});
  rig.advance(milliseconds(10));
  EXPECT_THAT(rig.wan().announcements, SizeIs(2));
  EXPECT_EQ(rig.wan().repairs.front().value.first_ordinal, 10U);
}

TEST(Encoder, BlocksNeverMixVlanStacks) {
  EncoderRig rig(test::seed(), fixed({.k = 32, .r = 4, .interleave = 1}));
  WriteFlow plain(17);
  WriteFlow tagged(17);
  tagged.path.vlans = {.tags = {roce::VlanTag{.tci = 5}}, .count = 1};
  send_message(rig, plain, 4 * 1024, {});
  send_message(rig, tagged, 4 * 1024, {});
  rig.advance(milliseconds(10));
  EXPECT_EQ(rig.count(Event::kGroupClosedMessageEnd), 2U);
  ASSERT_THAT(rig.wan().announcements, SizeIs(2));
  for (const auto& repair : rig.wan().repairs)
    EXPECT_THAT(repair.value.sources, SizeIs(4));
}

// Packets of `stacks` VLANs in turn; each VLAN sends `packets`.
void send_in_turn(EncoderRig& rig, std::uint16_t stacks, std::uint32_t packets) {
  std::vector<WriteFlow> flows;
  for (std::uint16_t vid = 1; vid <= stacks; ++vid) {
    flows.emplace_back(17);
    flows.back().path.vlans = {.tags = {roce::VlanTag{.tci = vid}}, .count = 1};
  }
  for (std::uint32_t i = 0; i < packets; ++i) {
    for (WriteFlow& flow : flows)
      rig.send(flow.packet(roce::Psn(0), (packets + 1) * 1024, i), {});
    rig.advance(microseconds(50));
  }
}

TEST(Encoder, VlanStacksSideBySideFillBlocksOfTheirOwn) {
  EncoderRig rig(test::seed(), fixed({.k = 16, .r = 2, .interleave = 1}));
  send_in_turn(rig, 3, 64);
  EXPECT_EQ(rig.count(Event::kGroupClosedFull), 3U * 4);
  EXPECT_EQ(rig.count(Event::kGroupClosedList), 0U);
  std::set<std::uint32_t> firsts;
  for (const auto& repair : rig.wan().repairs)
    firsts.insert(repair.value.first_ordinal);
  EXPECT_THAT(firsts, SizeIs(3 * 4)) << "ordinals of different stacks are told apart";
}

TEST(Encoder, MoreVlanStacksThanAreToldApartStillNeverMix) {
  EncoderRig rig(test::seed(), fixed({.k = 16, .r = 2, .interleave = 1}));
  send_in_turn(rig, wire::kMaxPaths + 1, 16);
  EXPECT_EQ(rig.count(Event::kGroupClosedFull), wire::kMaxPaths - 1);
  EXPECT_GT(rig.count(Event::kGroupClosedList), 0U);
}

TEST(Encoder, FeedbackIsOfTheStackWhoseOrdinalsAreNearest) {
  EncoderRig rig(test::seed(), fixed({.k = 32, .r = 2, .interleave = 1}));
  send_in_turn(rig, 2, 8);
  rig.advance(milliseconds(3));
  std::set<std::uint32_t> ends;
  for (const auto& repair : rig.wan().repairs)
    ends.insert(repair.value.first_ordinal + repair.value.k);
  ASSERT_THAT(ends, SizeIs(2));
  const auto covered = *ends.rbegin();
  rig.forget_wan();
  wire::Feedback feedback;
  feedback.covered.push_back({.stream = {}, .ordinal = covered});
  rig.feedback(feedback, milliseconds(20));
  rig.advance(milliseconds(2000));
  EXPECT_FALSE(rig.wan().repairs.empty()) << "the other stack's tail goes again";
  for (const auto& repair : rig.wan().repairs)
    EXPECT_NE(repair.value.first_ordinal + repair.value.k, covered);
}

TEST(Encoder, WhatThePeerMeasuredStaysToBeReadWhenTheSessionEnds) {
  EncoderRig rig(test::seed(), recovery::PolicyTable::defaults());
  wire::Feedback feedback = empty_feedback();
  feedback.loss = {.expected_packets = 1000, .lost_packets = 7, .loss_runs = 5};
  rig.feedback(feedback, milliseconds(20));
  rig.encoder.reset();
  EXPECT_EQ(rig.encoder.measured_loss(), feedback.loss);
}

TEST(Encoder, CongestionMarksAreToldWithTheBlock) {
  EncoderRig rig(test::seed(), fixed({.k = 4, .r = 1, .interleave = 1}));
  WriteFlow flow(17);
  send_message(rig, flow, 4 * 1024, {});
  flow.path.tos |= 3;
  send_message(rig, flow, 4 * 1024, {});
  rig.advance(milliseconds(1));
  for (const auto& repair : rig.wan().repairs)
    EXPECT_EQ(repair.value.ce_seen, repair.value.first_ordinal == 4);
}

TEST(Encoder, TheLastAckIsSentAgainAndAnOvertakenOneIsNot) {
  EncoderRig rig(test::seed(), PolicyTable::defaults());
  WriteFlow flow(17);
  const Bytes first = flow.acknowledge(roce::Psn(16));
  const Bytes second = flow.acknowledge(roce::Psn(32));
  rig.send(first, {});
  rig.advance(microseconds(300));
  rig.send(second, {});
  rig.advance(milliseconds(200));
  const auto& wan = rig.wan();
  EXPECT_THAT(wan.ack_copies, SizeIs(6));
  EXPECT_THAT(wan.ack_copies, Each(Bytes(second.begin() + roce::kEthernetBytes, second.end())));
  EXPECT_EQ(rig.count(Event::kAckCopySent), 6U);
}

// Many short messages: hundreds of last ACKs at once, more copies than there are tokens for.
TEST(Encoder, AckCopiesLeaveTokensForFeedback) {
  EncoderRig rig(test::seed(), PolicyTable::defaults());
  for (std::uint32_t qpn = 1; qpn <= 600; ++qpn)
    rig.send(WriteFlow(qpn).acknowledge(roce::Psn(16)), {});
  rig.advance(milliseconds(100));
  EXPECT_GT(rig.count(Event::kAckCopySent), 100U);
  EXPECT_GT(rig.count(Event::kControlDroppedBudget), 100U);
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(rig.sender.send(wire::PacketType::kFeedback, kClassExact, empty_feedback(), rig.now()),
              SendResult::kSent);
  }
}

// Repairs are paid for by what was sent, control packets by what was received: neither spends the other's tokens.
TEST(Encoder, RepairsSpendTheirOwnTokensOnly) {
  constexpr double kOverhead = 0.02;
  EncoderRig rig(test::seed(), fixed({.k = 8, .r = 8, .interleave = 1}), EncoderLimits(),
                 {.max_overhead = kOverhead});
  WriteFlow flow(17);
  for (const Bytes& frame : flow.message(1 << 20)) {
    rig.send(frame, {});
    rig.advance(kPacketTime);
  }
  const double bound =
      repair_bucket_limits(kOverhead).depth_bytes + kOverhead * static_cast<double>(rig.wan().source_bytes);
  EXPECT_LE(static_cast<double>(rig.wan().overhead_bytes), bound);
  EXPECT_GT(static_cast<double>(rig.wan().overhead_bytes), bound / 2);
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(rig.sender.send(wire::PacketType::kFeedback, kClassExact, empty_feedback(), rig.now()),
              SendResult::kSent);
  }
}

}  // namespace
}  // namespace weft::recovery
