// When the restorer makes up a packet, when it must not, and what it reports.
#include <gtest/gtest.h>

#include "tests/unit/recovery/restorer_case.h"

namespace weft::recovery {
namespace {

using namespace std::chrono_literals;
using roce::Opcode;
using roce::Psn;

TEST_F(RestorerCase, FillsAGapAndReportsItOnceAcknowledged) {
  fillable_message(20);
  source(frame(21));
  advance(5ms);
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{20, 21}));
  EXPECT_TRUE(fills_.take().records.empty());
  answered(21);
  const auto taken = fills_.take();
  ASSERT_EQ(taken.records.size(), 1U);
  EXPECT_EQ(taken.records[0].psn, Psn(20));
  EXPECT_EQ(taken.records[0].offset_bytes, 20 * kPmtu);
  answered(21);
  EXPECT_TRUE(fills_.take().records.empty());
}

TEST_F(RestorerCase, NothingIsFilledWhileARewindIsExpected) {
  fillable_message(20);
  source(frame(21));
  advance(5ms);
  answered(20, roce::kNakPsnSequenceError);
  source(frame(23));
  advance(10ms);
  EXPECT_EQ(count(Event::kFilled), 1U) << "22 is not made up";
}

// PSN 20 is made up, and its receiver has not answered yet.
class PendingFillCase : public RestorerCase {
 protected:
  void SetUp() override {
    fillable_message(20);
    source(frame(21));
    advance(5ms);
    ASSERT_EQ(count(Event::kFilled), 1U);
    delivered();
  }
  // What the sender sends again, at once, from `first` on and up to 21.
  void sent_again(std::uint32_t first, std::uint16_t ip_id = 2) {
    for (std::uint32_t psn = first; psn <= 21; ++psn)
      source(frame(psn, ip_id));
  }
  std::vector<std::uint32_t> reported() {
    std::vector<std::uint32_t> psns;
    for (const FillRecord& record : fills_.take().records)
      psns.push_back(record.psn.value);
    return psns;
  }
  static constexpr std::uint8_t kRnrNak = 0x20;
  const std::vector<std::uint32_t> kTheFill{20};
};

TEST_F(PendingFillCase, IsCancelledWhenTheSenderGoesBackAsItsReceiverAsked) {
  answered(19, roce::kNakPsnSequenceError);
  EXPECT_EQ(count(Event::kFillCancelled), 0U);
  advance(10ms);
  sent_again(19);
  EXPECT_EQ(count(Event::kFillCancelled), 1U);
  answered(21);
  EXPECT_EQ(reported(), std::vector<std::uint32_t>());
}

TEST_F(PendingFillCase, IsCancelledWhenItsReceiverWasNotReady) {
  answered(20, kRnrNak);
  advance(200ms);
  sent_again(20);
  EXPECT_EQ(count(Event::kFillCancelled), 1U);
  answered(21);
  EXPECT_EQ(reported(), std::vector<std::uint32_t>());
}

TEST_F(PendingFillCase, IsReportedWhenTheNakWasAnotherFlows) {
  answered(15, roce::kNakPsnSequenceError);
  source(frame(22));
  answered(22);
  EXPECT_EQ(reported(), kTheFill);
  EXPECT_EQ(count(Event::kFillCancelled), 0U);
}

TEST_F(PendingFillCase, IsNotCancelledBySendersThatGoBackFurtherThanTheNakSaid) {
  answered(15, roce::kNakPsnSequenceError);
  advance(10ms);
  sent_again(12);  // a timeout: its receiver has the zeros, and throws this away
  answered(21);
  EXPECT_EQ(reported(), kTheFill);
}

TEST_F(PendingFillCase, IsNotCancelledByItsLateOriginal) {
  answered(20, roce::kNakPsnSequenceError);
  advance(1ms);
  source(frame(20));
  answered(21);
  EXPECT_EQ(reported(), kTheFill);
}

TEST_F(PendingFillCase, IsNotCancelledWhenOnlyWhatWasAskedForIsSentAgain) {
  answered(15, roce::kNakPsnSequenceError);  // of a receiver that keeps what is behind a gap
  advance(10ms);
  source(frame(15, 2));
  source(frame(22));
  source(frame(20));  // a duplicate on its way
  answered(22);
  EXPECT_EQ(reported(), kTheFill);
}

TEST_F(PendingFillCase, MadeUpAgainIsOneFill) {
  answered(19, roce::kNakPsnSequenceError);
  advance(10ms);
  source(frame(19, 2));
  now_ += 2ms;
  source(frame(21, 2));
  advance(5ms);
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{19, 20, 21}));
  EXPECT_EQ(count(Event::kFilledAgain), 1U);
  advance(100ms);
  sent_again(20, 3);  // the zeros are in memory
  answered(21);
  EXPECT_EQ(reported(), kTheFill);
}

TEST_F(PendingFillCase, IsReportedWhenNobodyAnswers) {
  advance(15ms);
  EXPECT_EQ(reported(), std::vector<std::uint32_t>());
  advance(30ms);
  EXPECT_EQ(reported(), kTheFill);
}

TEST_F(PendingFillCase, IsReportedWhenNothingIsSentAgainAsTheNakSaid) {
  answered(15, roce::kNakPsnSequenceError);
  advance(35ms);
  EXPECT_EQ(reported(), std::vector<std::uint32_t>());
  advance(50ms);
  EXPECT_EQ(reported(), kTheFill);
}

TEST_F(PendingFillCase, IsReportedWhenItsQueuePairIsMadeAnew) {
  source(frame(1'000'000));
  EXPECT_EQ(reported(), kTheFill);
  for (const std::uint32_t psn : {0U, 1U, 2U})
    answered(1'000'000 + psn);
  answered(1'000'000, roce::kNakPsnSequenceError);
  EXPECT_EQ(count(Event::kFillCancelled), 0U);
}

TEST_F(PendingFillCase, IsReportedWhenThePeerStartsAnew) {
  restorer_.peer_restarted(now_);
  EXPECT_EQ(reported(), kTheFill);
}

TEST_F(PendingFillCase, IsReportedWhenEverythingIsForgotten) {
  restorer_.peer_lost();
  EXPECT_EQ(reported(), kTheFill);
}

// Only just enough is earned for one packet.
class OneFillEarned : public PendingFillCase {
 protected:
  void SetUp() override {
    for (LevelPolicy& level : policy_.classes[kDpLow.class_id].levels)
      level.fill_budget = 0.07;
    PendingFillCase::SetUp();
  }
};

TEST_F(OneFillEarned, MadeUpAgainCostsNothing) {
  answered(19, roce::kNakPsnSequenceError);
  advance(10ms);
  source(frame(19, 2));
  now_ += 2ms;
  source(frame(21, 2));
  advance(5ms);
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{19, 20, 21}));
}

TEST_F(OneFillEarned, IsCancelledByItsTruePacketAlsoWhereThatPassesBehindAGap) {
  answered(19, roce::kNakPsnSequenceError);
  advance(10ms);
  source(frame(20, 2));  // 19 is lost again
  source(frame(21, 2));
  advance(restorer_.hold_bound());
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{20, 21}));
  EXPECT_EQ(count(Event::kFillCancelled), 1U);
}

TEST_F(OneFillEarned, ACancelledFillMayBeSpentAgain) {
  answered(19, roce::kNakPsnSequenceError);
  advance(10ms);
  sent_again(19);
  now_ += 2ms;
  source(frame(23));
  advance(5ms);
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{19, 20, 21, 22, 23}));
}

TEST_F(RestorerCase, WhatWasDeliveredIsNotFilledWhenTheSenderGoesBackByItself) {
  fillable_message(50);
  for (std::uint32_t psn = 50; psn < 60; ++psn)
    source(frame(psn));
  now_ += 100ms;
  for (const std::uint32_t psn : {50U, 51U, 53U})  // sent again with another identification; 52 is lost
    source(frame(psn, 2));
  advance(60ms);
  EXPECT_EQ(count(Event::kFilled), 0U);
  EXPECT_GT(count(Event::kFillRefusedDelivered), 0U);
}

TEST_F(RestorerCase, WhatWasAcknowledgedIsNoGapWhenTheSenderLeavesItOut) {
  fillable_message(50);
  now_ += 100ms;
  for (const std::uint32_t psn : {10U, 11U, 50U})  // it has heard of 49 meanwhile
    source(frame(psn, 2));
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{10, 11, 50}));
}

TEST_F(RestorerCase, AnAcknowledgementLetsGoOfWhatWaitsBehindWhatItNames) {
  fillable_message(50);
  for (std::uint32_t psn = 50; psn < 60; ++psn)
    source(frame(psn));
  now_ += 100ms;
  for (const std::uint32_t psn : {50U, 51U, 56U})
    source(frame(psn, 2));
  EXPECT_EQ(restorer_.held_frames(), 1U);
  answered(55);
  EXPECT_EQ(restorer_.held_frames(), 0U);
  advance(60ms);
  EXPECT_EQ(count(Event::kFilled), 0U);
}

TEST_F(RestorerCase, ReadDataThatGoesOnAnswersOnlyForWhatCameBeforeItsRequest) {
  fillable_message(50);
  for (std::uint32_t psn = 50; psn < 60; ++psn)
    source(frame(psn));
  now_ += 100ms;
  for (const std::uint32_t psn : {50U, 51U, 56U})
    source(frame(psn, 2));
  const Bytes begun = answer(55, 0x1f, roce::Opcode::kRcRdmaReadResponseFirst);
  restorer_.on_lan_packet(*roce::PacketView::parse(begun), now_);
  EXPECT_EQ(restorer_.held_frames(), 1U);
}

// A gap before PSN 100 that is given up while nothing may be filled; 101 to 103 pass.
class GapGivenUp : public RestorerCase {
 protected:
  void SetUp() override {
    fillable_message(100);
    answered(40, roce::kNakPsnSequenceError);  // no fill until the sender has gone back, or 40 ms have passed
    advance(35ms);
    for (std::uint32_t psn = 101; psn < 104; ++psn)
      source(frame(psn));
    advance(1ms);
    ASSERT_EQ(delivered(), (std::vector<std::uint32_t>{101, 102, 103}));
    ASSERT_EQ(count(Event::kFilled), 0U);
    // The requester had it all along.
    answered(99);
  }
};

TEST_F(GapGivenUp, WhatPassedBehindItIsNotFilledWhenTheMissingOneIsOnlyLate) {
  now_ += 5ms;
  source(frame(100));
  source(frame(105));
  advance(restorer_.hold_bound());
  EXPECT_EQ(count(Event::kFilled), 0U);
  EXPECT_GT(count(Event::kFillRefusedDelivered), 0U);
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{100, 105}));
}

TEST_F(GapGivenUp, WhatIsLostAmongRetransmissionsIsFilled) {
  now_ += 100ms;
  source(frame(100, 2));
  now_ += 2ms;
  source(frame(102, 2));
  advance(restorer_.hold_bound());
  EXPECT_EQ(count(Event::kFilled), 1U);
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{100, 101, 102}));
}

TEST_F(GapGivenUp, AStragglerOfWhatWasSentBeforeProvesNothing) {
  now_ += 100ms;
  source(frame(100, 2));
  const std::uint64_t refused = count(Event::kFillRefusedNotProven);
  source(frame(150));  // sent before the sender went back
  advance(restorer_.hold_bound());
  EXPECT_EQ(count(Event::kFilled), 0U);
  EXPECT_EQ(count(Event::kFillRefusedNotProven), refused + 1);
}

TEST_F(RestorerCase, ALateOriginalOfAFillIsCounted) {
  fillable_message(20);
  source(frame(21));
  advance(3ms);
  source(frame(20));
  EXPECT_EQ(count(Event::kFilledLateArrival), 1U);
}

TEST_F(RestorerCase, OnlyWhatAListNamesIsProvenSent) {
  fillable_message(20);
  listed(kDpLow, 20, 1);
  advance(200ms);
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{20})) << "21 may never have been sent";
}

TEST_F(RestorerCase, APacketDeliveredTwiceEarnsOnce) {
  fillable_message(20);
  for (std::uint32_t psn = 1; psn < 20; ++psn)
    source(frame(psn));
  source(frame(40));
  advance(200ms);
  EXPECT_EQ(count(Event::kFilled), 8U) << "half of what was delivered since the receiver was in step";
  EXPECT_EQ(count(Event::kFillRefusedBudget), 1U);
}

TEST_F(RestorerCase, WhatTheSenderSendsAgainEarnsOnce) {
  fillable_message(20);
  answered(1, roce::kNakPsnSequenceError);
  advance(20ms);
  for (std::uint32_t psn = 1; psn < 20; ++psn)
    source(frame(psn, 2));
  advance(20ms);
  source(frame(40, 2));
  advance(200ms);
  EXPECT_EQ(count(Event::kFilled), 8U) << "half of what was delivered since the receiver was in step";
}

TEST_F(RestorerCase, WhatFollowsWhatWasAskedForEarnsWhenItComesAgain) {
  fillable_message(20);
  answered(10, roce::kNakPsnSequenceError);
  for (std::uint32_t psn = 20; psn < 60; ++psn)  // was on its way, and is thrown away
    source(frame(psn));
  constexpr std::uint8_t kRnrNak = 0x21;
  answered(10, kRnrNak);
  advance(20ms);
  for (std::uint32_t psn = 10; psn < 22; ++psn)
    source(frame(psn, 2));
  advance(20ms);
  source(frame(50, 2));
  advance(200ms);
  EXPECT_EQ(count(Event::kFilled), 9U) << "half of 4 to 21";
  EXPECT_EQ(count(Event::kFillRefusedBudget), 1U);
}

// It waits for PSN 9, which went by before the flow was known here.
TEST_F(RestorerCase, AReceiverThatIsNotInStepEarnsNothing) {
  announce(kDpLow);
  source(frame(10, 1, Opcode::kRcRdmaWriteFirst));
  for (std::uint32_t psn = 11; psn < 40; ++psn)
    source(frame(psn));
  advance(20ms);
  source(frame(9, 2));
  source(frame(10, 2, Opcode::kRcRdmaWriteFirst));
  for (std::uint32_t psn = 11; psn < 40; ++psn)
    source(frame(psn, 2));
  for (std::uint32_t psn = 37; psn < 40; ++psn)
    answered(psn);
  advance(20ms);
  source(frame(41));
  advance(200ms);
  EXPECT_EQ(count(Event::kFilled), 0U);
  EXPECT_EQ(count(Event::kFillRefusedBudget), 1U);
}

TEST_F(RestorerCase, NothingIsFilledBeforeTheReceiverIsInStepAgain) {
  fillable_message(20);
  restorer_.peer_lost();
  announce(kDpLow);
  source(frame(1000, 1, Opcode::kRcRdmaWriteFirst));
  source(frame(1002));
  advance(200ms);
  EXPECT_EQ(count(Event::kFilled), 0U);
  EXPECT_GT(count(Event::kFillRefusedAmbiguous), 0U);
}

TEST_F(RestorerCase, AMessageThatBeganUnseenIsNotFilled) {
  announce(kDpLow);
  described(kDpLow);
  for (std::uint32_t psn = 10; psn < 30; ++psn) {
    source(frame(psn));
    answered(psn);
  }
  source(frame(31));
  advance(200ms);
  EXPECT_EQ(count(Event::kFilled), 0U);
  EXPECT_EQ(count(Event::kFillRefusedMessageCap), 1U);
}

TEST_F(RestorerCase, AMessagesCapOutlivesThePeersAgent) {
  for (LevelPolicy& level : policy_.classes[kDpLow.class_id].levels)
    level.max_fill_per_message = 1.0 / kMessagePackets;
  fillable_message(20);
  source(frame(21));
  advance(5ms);
  ASSERT_EQ(count(Event::kFilled), 1U);
  restorer_.peer_restarted(now_);
  announce(kDpLow);
  for (std::uint32_t psn = 22; psn < 40; ++psn) {
    source(frame(psn));
    answered(psn);
  }
  source(frame(41));
  advance(200ms);
  EXPECT_EQ(count(Event::kFilled), 1U);
  EXPECT_EQ(count(Event::kFillRefusedMessageCap), 1U);
}

TEST_F(RestorerCase, WhatItsReceiverThrowsAwayEarnsNothing) {
  fillable_message(6);
  answered(2, roce::kNakPsnSequenceError);  // no fill until the sender has gone back
  source(frame(7));
  advance(restorer_.hold_bound());
  for (std::uint32_t psn = 8; psn < 40; ++psn)
    source(frame(psn));
  ASSERT_EQ(restorer_.held_frames(), 0U);
  answered(5);
  advance(100ms);
  source(frame(6, 2));
  advance(10ms);
  source(frame(12, 2));
  advance(200ms);
  EXPECT_EQ(count(Event::kFilled), 1U) << "half of 4 to 6";
  EXPECT_EQ(count(Event::kFillRefusedBudget), 1U);
}

TEST_F(RestorerCase, AClassWhosePolicyNamesNoFillIsNotFilled) {
  policy_.classes[kDpLow.class_id].after = {Fallback::kRelease};
  fillable_message(20);
  described(kDpLow);  // the peer's policy may be another
  source(frame(21));
  advance(200ms);
  EXPECT_EQ(count(Event::kFilled), 0U);
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{21}));
}

TEST_F(RestorerCase, AClassWithoutABudgetIsNotFilled) {
  for (LevelPolicy& level : policy_.classes[kDpLow.class_id].levels)
    level.fill_budget = 0;
  fillable_message(20);
  described(kDpLow);
  source(frame(21));
  advance(200ms);
  EXPECT_EQ(count(Event::kFilled), 0U);
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{21}));
}

TEST_F(RestorerCase, ASmallMessageIsNotFilled) {
  policy_.min_fill_message_bytes = kMessagePackets * kPmtu + 1;
  fillable_message(20);
  source(frame(21));
  advance(200ms);
  EXPECT_EQ(count(Event::kFilled), 0U);
  EXPECT_EQ(count(Event::kFillRefusedSmallMessage), 1U);
}

TEST_F(RestorerCase, NothingIsFilledWhileItsAnswersMayBeAnotherFlows) {
  announce(kDpLow);
  source(frame(0, 1, Opcode::kRcRdmaWriteFirst));
  for (const std::uint32_t psn : {1U, 2U, 4U})
    source(frame(psn));
  advance(200ms);
  EXPECT_EQ(count(Event::kFilled), 0U);
  EXPECT_GT(count(Event::kFillRefusedAmbiguous), 0U);
}

// A repair may still come for the first packet of the gap, but its time is over: it is filled by the same rules as any
// other, whether or not its message is known.
class FillWithARepairExpected : public RestorerCase {
 protected:
  // `missing` and the packet behind it are lost, and one of three repairs of their block has come.
  void gap_with_a_repair_expected(std::uint32_t missing) {
    const CodedBlock block({frame(missing - 1), frame(missing), frame(missing + 1)}, kDpLow, 3);
    source(frame(missing + 2));
    restorer_.on_repair(block.repair, now_);
    EXPECT_EQ(count(Event::kRecovered), 0U);
    advance(restorer_.hold_bound() - 1ns);
    EXPECT_EQ(restorer_.held_frames(), 1U) << "a repair is worth waiting for";
    delivered();
    advance(1ns);
  }
};

TEST_F(FillWithARepairExpected, OfAKnownMessageItIsFilled) {
  fillable_message(20);
  gap_with_a_repair_expected(20);
  EXPECT_EQ(count(Event::kFilled), 2U);
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{20, 21, 22}));
}

TEST_F(FillWithARepairExpected, OfAnUnknownMessageItIsReleased) {
  announce(kDpLow);
  for (std::uint32_t psn = 10; psn < 20; ++psn) {  // its FIRST was before we came
    source(frame(psn));
    answered(psn);
  }
  gap_with_a_repair_expected(20);
  EXPECT_EQ(count(Event::kFilled), 0U);
  EXPECT_GT(count(Event::kFillRefusedNoDescriptor), 0U);
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{22}));
}

}  // namespace
}  // namespace weft::recovery
