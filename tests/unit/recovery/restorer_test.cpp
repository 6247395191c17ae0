// Cases of the restorer that a random link hardly ever makes.
#include <gtest/gtest.h>

#include "tests/unit/recovery/restorer_case.h"

namespace weft::recovery {
namespace {

using namespace std::chrono_literals;
using roce::Opcode;

TEST_F(RestorerCase, ARepairClosesAGap) {
  announce(kDpHigh);
  const CodedBlock block({frame(0), frame(1), frame(2)});
  source(frame(0));
  source(frame(2));
  now_ += 2ms;
  restorer_.on_repair(block.repair, now_);
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{0, 1, 2}));
  ASSERT_EQ(restorer_.recovery_latency().samples(), 1U);
  EXPECT_GE(*restorer_.recovery_latency().percentile(1), 2ms);
  EXPECT_LE(*restorer_.recovery_latency().percentile(1), 2200us);
}

TEST_F(RestorerCase, LossIsMeasuredBeforeRecovery) {
  announce(kDpHigh);
  const CodedBlock block({frame(0), frame(1), frame(2)});
  source(frame(0));
  source(frame(2));
  restorer_.on_repair(block.repair, now_);
  ASSERT_EQ(count(Event::kRecovered), 1U);
  wire::Feedback feedback;
  restorer_.fill_feedback(feedback, now_ + 1s);
  EXPECT_EQ(feedback.loss.expected_packets, 3U);
  EXPECT_EQ(feedback.loss.lost_packets, 1U);
}

TEST_F(RestorerCase, ARetransmissionDoesNotStandInForItsOriginal) {
  announce(kDpHigh);
  const CodedBlock block({frame(0), frame(1), frame(2)}, kDpHigh, 2);
  wire::Repair list = block.repair;  // first without a symbol
  list.symbol = {};
  source(frame(0));
  restorer_.on_repair(list, now_);
  source(frame(1, 9));  // sent again, with other bytes
  source(frame(2));
  delivered();
  const CodedBlock other({frame(0), frame(1), frame(2)}, kDpHigh, 2);
  restorer_.on_repair(other.repair, now_);
  EXPECT_EQ(count(Event::kRecovered), 1U) << "the original is still missing, and so the block can be decoded";
  EXPECT_EQ(count(Event::kRecoveredBadIcrc), 0U);
}

TEST_F(RestorerCase, ADamagedPacketIsNotForwarded) {
  announce(kDpHigh);
  Bytes damaged = frame(0);
  damaged[damaged.size() - 8] ^= 1;
  source(damaged);
  EXPECT_TRUE(delivered().empty());
  EXPECT_EQ(count(Event::kSourceBadIcrc), 1U);
}

TEST_F(RestorerCase, AMalformedRepairIsNotUsed) {
  announce(kDpHigh);
  const CodedBlock block({frame(0), frame(1), frame(2)});
  source(frame(0));
  source(frame(2));
  std::vector<wire::Repair> wrong(7, block.repair);
  wrong[0].k = 0;
  wrong[1].k = fec::kMaxColumns + 1;  // and as many names
  wrong[1].sources.resize(fec::kMaxColumns + 1, block.repair.sources[0]);
  wrong[2].index = 1;              // of one row
  wrong[3].r = fec::kMaxRows + 1;  //
  wrong[4].block = 1;              // of one
  wrong[5].sources.pop_back();     // names two of three
  wrong[6].symbol_bytes += 1;      // says more than there is
  for (const wire::Repair& repair : wrong)
    restorer_.on_repair(repair, now_);
  EXPECT_EQ(count(Event::kRepairMalformed), wrong.size());
  EXPECT_EQ(count(Event::kRecovered), 0U);
  restorer_.on_repair(block.repair, now_);
  EXPECT_EQ(count(Event::kRecovered), 1U) << "they did the right one no harm";
}

TEST_F(RestorerCase, ARepairThatLiesIsNotDelivered) {
  announce(kDpHigh);
  CodedBlock block({frame(0), frame(1), frame(2)});
  source(frame(0));
  source(frame(2));
  block.symbol[100] ^= 1;  // in the payload: name and fingerprint still match
  restorer_.on_repair(block.repair, now_);
  EXPECT_EQ(count(Event::kRecoveredBadIcrc), 1U);
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{0}));
  advance(200ms);
}

TEST_F(RestorerCase, ARepairOfTheOldLifeClosesNoGapOfTheNew) {
  announce(kDpHigh);
  const CodedBlock block({frame(5), frame(6), frame(7)});
  source(frame(5));
  source(frame(7));
  announce(kDpHigh, 2, 1);
  source(frame(5, 9));
  source(frame(7, 9));
  delivered();
  restorer_.on_repair(block.repair, now_);
  EXPECT_EQ(count(Event::kRecoveredOldEpoch), 1U);
  EXPECT_TRUE(delivered().empty());
  advance(200ms);
}

TEST_F(RestorerCase, ANewEpochKeepsNothingOfTheOld) {
  fillable_message(20);
  announce(kDpLow, 2, 1);
  source(frame(5, 9));
  source(frame(7, 9));
  // A manifest that was under way still speaks of the old life.
  listed(kDpLow, 6, 1);
  EXPECT_EQ(count(Event::kManifestUnknownFlow), 1U);
  advance(60ms);
  EXPECT_EQ(count(Event::kFilled), 0U) << "the old life's message says nothing about this one";
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{5, 7}));
}

TEST_F(RestorerCase, ACopyOfAnAcknowledgementIsDeliveredOnce) {
  const Bytes bytes = answer(9);
  answer_copied(bytes);
  answer_copied(bytes);
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{9}));
  EXPECT_EQ(count(Event::kAckCopyStale), 1U);
  source(bytes);
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{9})) << "an original is never suppressed";
}

TEST_F(RestorerCase, ACopyOfWhatPassedWithoutASessionIsStale) {
  const Bytes newer = answer(20);
  const FrameId id = pool_.put(newer);
  restorer_.on_passed(id, *roce::PacketView::parse(pool_.bytes(id)), now_);
  for (const std::uint32_t psn : {10U, 20U})
    answer_copied(answer(psn));
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{20}));
  EXPECT_EQ(count(Event::kAckCopyStale), 2U);
}

TEST_F(RestorerCase, OrderStartsAnewBehindWhatPassedWithoutASession) {
  announce(kDpHigh);
  source(frame(1));
  const FrameId id = pool_.put(frame(2));
  restorer_.on_passed(id, *roce::PacketView::parse(pool_.bytes(id)), now_);
  source(frame(9));
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{1, 2, 9}));
  EXPECT_EQ(count(Event::kHeld), 0U);
}

TEST_F(RestorerCase, ACopyOfAnAcknowledgementDoesNotOvertakeReadData) {
  source(answer(10, 0x1f, Opcode::kRcRdmaReadResponseFirst));
  delivered();
  answer_copied(answer(12));
  EXPECT_TRUE(delivered().empty()) << "the rest of the message is under way, and acknowledges as much";
  source(answer(11, 0x1f, Opcode::kRcRdmaReadResponseLast));
  answer_copied(answer(12));
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{11, 12}));
}

TEST_F(RestorerCase, AUcReceiverGetsOneCopy) {
  announce(kDpHigh);
  const auto middle = Opcode::kUcRdmaWriteMiddle;
  const CodedBlock block({frame(0, 1, middle), frame(1, 1, middle), frame(2, 1, middle)});
  source(frame(0, 1, middle));
  source(frame(0, 1, middle));
  source(frame(2, 1, middle));
  restorer_.on_repair(block.repair, now_);
  source(frame(1, 1, middle));  // late, after it was recovered
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(count(Event::kDuplicateDropped), 2U);
}

TEST_F(RestorerCase, ACeMarkOutlivesADuplicateOfAHeldPacket) {
  announce(kDpHigh);
  source(frame(0));
  delivered();
  source(frame(2));
  source(ce_marked_frame(2));
  source(ce_marked_frame(3));
  source(frame(3));
  EXPECT_EQ(count(Event::kDuplicateDropped), 2U);
  EXPECT_EQ(restorer_.held_frames(), 2U);
  source(frame(1));
  const auto sent = pool_.take_sent(Port::kLan);
  ASSERT_EQ(sent.size(), 3U);
  EXPECT_EQ(sent[0].bytes, frame(1));
  EXPECT_EQ(sent[1].bytes, ce_marked_frame(2));
  EXPECT_EQ(sent[2].bytes, ce_marked_frame(3));
}

TEST_F(RestorerCase, ALostPeerLetsEverythingGoInOrder) {
  announce(kDpHigh);
  for (const std::uint32_t psn : {0U, 3U, 2U})
    source(frame(psn));
  restorer_.peer_lost();
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{0, 2, 3}));
  EXPECT_EQ(restorer_.held_frames(), 0U);
}

TEST_F(RestorerCase, AfterAStallWhatWasHeldIsStale) {
  announce(kDpHigh);
  source(frame(0));
  source(frame(2));
  restorer_.drop_stale();
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(count(Event::kStaleDropped), 1U);
}

TEST_F(RestorerCase, NothingIsHeldBeyondTheBound) {
  announce(kDpHigh);
  source(frame(0));
  source(frame(2));
  advance(restorer_.hold_bound() - 1ns);
  EXPECT_EQ(restorer_.held_frames(), 1U);
  advance(1ns);
  EXPECT_EQ(restorer_.held_frames(), 0U);
}

TEST_F(RestorerCase, WhatMayNotWaitIsForwardedLikeAllElse) {
  fillable_message(20);
  restorer_.set_rtt(1s, 1s);  // beyond what the endpoints wait: no time to hold
  source(frame(21));
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{21}));
  answered(20, roce::kNakPsnSequenceError);  // the receiver saw the gap
  EXPECT_EQ(restorer_.held_frames(), 0U);
  source(frame(20, 2));
  source(frame(21, 2));
  source(frame(22, 2));
  answered(22);
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{20, 21, 22}));
  restorer_.set_rtt(10ms, 10ms);
  source(frame(24));
  advance(3ms);
  EXPECT_EQ(count(Event::kFilled), 1U) << "still known whose answers they are";
}

TEST_F(RestorerCase, AScarcePoolGetsItsFramesBack) {
  announce(kDpHigh);
  source(frame(0));
  source(frame(2));
  pool_.set_scarce(true);
  restorer_.tick(now_);
  restorer_.tick(now_);
  EXPECT_EQ(pool_.in_use(), 0U);
  EXPECT_EQ(count(Event::kReleasedScarce), 1U);
}

TEST_F(RestorerCase, WhatIsAnnouncedAndForgottenIsToldOnce) {
  announce(kDpHigh);
  announce(kDpHigh);
  std::vector<FlowNotice> told = restorer_.flow_notices().take();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].kind, FlowNotice::Kind::kAnnounced);
  EXPECT_EQ(told[0].key, roce::PacketView::parse(frame(0))->flow_key());
  EXPECT_EQ(told[0].stream, kDpHigh);
  source(frame(0));
  announce(kDpLow, 2, 1);  // another class
  told = restorer_.flow_notices().take();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].stream, kDpLow);
  advance(31s);
  told = restorer_.flow_notices().take();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].kind, FlowNotice::Kind::kForgotten);
}

TEST_F(RestorerCase, AnAnnouncedFlowOfWhichNothingArrivesIsToldAgain) {
  announce(kDpHigh);
  EXPECT_EQ(restorer_.flow_notices().take().size(), 1U);
  advance(900ms);
  EXPECT_TRUE(restorer_.flow_notices().empty());
  advance(200ms);
  EXPECT_EQ(restorer_.flow_notices().take().size(), 1U);
  source(frame(0));
  advance(5s);
  EXPECT_TRUE(restorer_.flow_notices().empty());
}

TEST_F(RestorerCase, NoticesAreBoundedAndToldAgain) {
  for (std::uint32_t i = 0; i < RestorerLimits().flow_notices + 10; ++i) {
    wire::Announcement announcement;
    announcement.flows.push_back(
        {.id = static_cast<wire::FlowId>(i), .epoch = 0, .stream = kDpHigh, .key = {}});
    announcement.flows[0].key.dest_qpn = i;
    restorer_.on_announcement(announcement, {}, now_);
  }
  EXPECT_EQ(count(Event::kFlowNoticeRefused), 10U);
  EXPECT_EQ(restorer_.flow_notices().take().size(), RestorerLimits().flow_notices);
  advance(1500ms);
  EXPECT_FALSE(restorer_.flow_notices().empty());
}

// Until the classifier has learned a flow whose marks the WAN took, its packets go over the bridge.
TEST_F(RestorerCase, WhatPassedByIsNotCountedAsLost) {
  announce(kDpHigh);
  const CodedBlock passed({frame(0), frame(1), frame(2)});
  restorer_.on_repair(passed.repair, now_);
  CodedBlock half({frame(3), frame(4), frame(5), frame(6)});
  half.repair.first_ordinal = 3;
  source(frame(5));
  restorer_.on_repair(half.repair, now_);
  EXPECT_EQ(count(Event::kLostPackets), 1U) << "6 came neither way";
  now_ += 1s;
  CodedBlock later({frame(2), frame(7)});
  later.repair.first_ordinal = 7;
  restorer_.on_repair(later.repair, now_);
  EXPECT_EQ(count(Event::kLostPackets), 3U) << "sent again, and lost";
  advance(1s);
  wire::Feedback feedback;
  restorer_.fill_feedback(feedback, now_);
  EXPECT_EQ(feedback.loss.expected_packets, 9U);
  EXPECT_EQ(feedback.loss.lost_packets, 3U);
  EXPECT_EQ(feedback.loss.undecodable_packets, 3U);
  EXPECT_EQ(delivered(), std::vector<std::uint32_t>{5}) << "nothing that passed by is delivered twice";
}

TEST_F(RestorerCase, AcknowledgementsAndCongestionNotificationsNeverWait) {
  announce(kDpHigh);
  source(frame(0));
  source(frame(2));
  delivered();
  roce::PacketHeaders headers;
  headers.bth.opcode = Opcode::kCnp;
  headers.bth.dest_qpn = kQpn;
  source(roce::build_frame(path(), headers, {}));
  EXPECT_EQ(delivered().size(), 1U);
}

class SmallRestorerCase : public RestorerCase {
 protected:
  SmallRestorerCase() : RestorerCase({.flows = 1, .held_frames = 2}) {}
};

TEST_F(SmallRestorerCase, WhatDoesNotFitTheHoldIsReleasedAndCounted) {
  announce(kDpHigh);
  source(frame(0));
  for (const std::uint32_t psn : {2U, 3U})
    source(frame(psn));
  EXPECT_EQ(restorer_.held_frames(), 2U);
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{0}));
  source(frame(4));
  EXPECT_EQ(restorer_.held_frames(), 0U);
  EXPECT_GT(count(Event::kReleasedCap), 0U);
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{2, 3, 4})) << "shed in order, nothing dropped";
}

TEST_F(SmallRestorerCase, AFlowBeyondTheCapPassesUnprotected) {
  announce(kDpHigh);
  source(frame(0));
  for (const std::uint32_t psn : {5U, 7U, 6U})
    source(answer(psn));  // of another flow
  EXPECT_EQ(restorer_.flows(), 1U);
  EXPECT_EQ(count(Event::kFlowRefused), 3U);
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{0, 5, 7, 6}));
}

}  // namespace
}  // namespace weft::recovery
