#include "agent/recovery/flow_order.h"

#include <gtest/gtest.h>

namespace weft::recovery {
namespace {

using namespace std::chrono_literals;
using roce::Opcode;
using roce::Psn;

constexpr ResendDelay kResendDelay{.least = 7ms, .most = 100ms};

OrderFacts packet(std::uint32_t psn, Opcode opcode = Opcode::kRcRdmaWriteMiddle) {
  return {.psn = Psn(psn), .op = &roce::opcode_info(opcode), .read_length_bytes = 0, .resent = false};
}

OrderFacts read_request(std::uint32_t psn, std::uint32_t length_bytes) {
  OrderFacts facts = packet(psn, Opcode::kRcRdmaReadRequest);
  facts.read_length_bytes = length_bytes;
  return facts;
}

OrderFacts resent(std::uint32_t psn) {
  OrderFacts facts = packet(psn);
  facts.resent = true;
  return facts;
}

class FlowOrderTest : public testing::Test {
 protected:
  Verdict arrive(const OrderFacts& facts, std::optional<std::uint32_t> first_held = std::nullopt) {
    return order_.arrive(facts, first_held ? std::optional(Psn(*first_held)) : std::nullopt, hold_, now_,
                         kResendDelay);
  }
  FlowOrder order_;
  Time now_{};
  bool hold_ = true;
};

TEST_F(FlowOrderTest, FollowsThePsnAcrossItsWrap) {
  EXPECT_EQ(arrive(packet(0xfffffe)), Verdict::kInOrder);
  EXPECT_EQ(arrive(packet(0xffffff)), Verdict::kInOrder);
  EXPECT_EQ(arrive(packet(0)), Verdict::kInOrder);
  EXPECT_EQ(arrive(packet(2)), Verdict::kAhead);
  EXPECT_EQ(arrive(packet(0xffffff)), Verdict::kOld);
  EXPECT_EQ(order_.next(), Psn(1));
}

TEST_F(FlowOrderTest, WithoutProtectionNothingIsAhead) {
  hold_ = false;
  arrive(packet(10));
  EXPECT_EQ(arrive(packet(15)), Verdict::kInOrder);
  EXPECT_EQ(order_.next(), Psn(16));
}

TEST_F(FlowOrderTest, AGapGivenUpLetsPassUntilItsPsnComesAgain) {
  arrive(packet(10));
  EXPECT_EQ(arrive(packet(12)), Verdict::kAhead);
  order_.give_up(now_, false, Psn(13));
  EXPECT_EQ(arrive(packet(13)), Verdict::kPassing);
  EXPECT_FALSE(order_.wants(Psn(11))) << "recovered now, it would make the receiver ask for what follows";
  EXPECT_EQ(arrive(packet(11)), Verdict::kInOrder);
  EXPECT_EQ(arrive(packet(13)), Verdict::kAhead) << "protected again";
}

TEST_F(FlowOrderTest, TheMissingPacketShowsThatTheSenderWentBackOnlyWhenAnAnswerCanBeHere) {
  arrive(packet(10));
  order_.give_up(now_, false, Psn(13));
  now_ += kResendDelay.least - 1us;
  arrive(packet(11));
  EXPECT_EQ(order_.went_back_at(), Time{});
  order_.give_up(now_, false, Psn(15));
  now_ += kResendDelay.least;
  arrive(packet(12));
  EXPECT_EQ(order_.went_back_at(), now_);
}

TEST_F(FlowOrderTest, WhileItPassesTheReceiverMayBeAhead) {
  arrive(packet(10));
  order_.give_up(now_, false, Psn(20));
  order_.receiver_has(Psn(15));
  EXPECT_EQ(arrive(packet(16)), Verdict::kPassing);
  EXPECT_EQ(arrive(packet(15)), Verdict::kInOrder);
  order_.receiver_has(Psn(40));  // in order the receiver cannot be: an answer to something else
  EXPECT_EQ(order_.next(), Psn(16));
}

TEST_F(FlowOrderTest, ASenderThatDoesNotGoBackEndsThePassing) {
  arrive(packet(10));
  arrive(packet(12));
  order_.give_up(now_, false, Psn(13));
  EXPECT_EQ(arrive(packet(13)), Verdict::kPassing);
  now_ += kResendDelay.most + 1ns;
  EXPECT_EQ(arrive(packet(14)), Verdict::kInOrder);
}

TEST_F(FlowOrderTest, AReceiverIsInStepOnceItAnswersForWhatCameThisWay) {
  arrive(packet(10));
  order_.receiver_has(Psn(9));
  EXPECT_FALSE(order_.in_step()) << "it waits for one that came before";
  order_.receiver_has(Psn(10));
  EXPECT_TRUE(order_.in_step());
  arrive(packet(11));
  EXPECT_TRUE(order_.in_step());
}

TEST_F(FlowOrderTest, BehindAGapThatNobodyClosedTheReceiverIsNotInStep) {
  arrive(packet(10));
  order_.receiver_has(Psn(11));
  order_.give_up(now_, false, Psn(13));
  now_ += kResendDelay.most + 1us;
  ASSERT_EQ(arrive(packet(13)), Verdict::kInOrder);
  EXPECT_FALSE(order_.in_step());
  order_.receiver_has(Psn(11));
  EXPECT_FALSE(order_.in_step());
  order_.receiver_has(Psn(14));
  EXPECT_TRUE(order_.in_step());
}

TEST_F(FlowOrderTest, WhereTheSenderGoesBackBehindTheBeginningTheReceiverIsInStep) {
  arrive(packet(10));
  arrive(packet(11));
  now_ += 50ms;
  arrive(resent(7));
  arrive(resent(8));
  order_.receiver_has(Psn(9));
  EXPECT_TRUE(order_.in_step());
}

TEST_F(FlowOrderTest, UnreliableOrderGoesOnBehindTheGap) {
  arrive(packet(10, Opcode::kUcRdmaWriteMiddle));
  arrive(packet(12, Opcode::kUcRdmaWriteMiddle));
  order_.give_up(now_, true, Psn(13));
  EXPECT_EQ(arrive(packet(13, Opcode::kUcRdmaWriteMiddle)), Verdict::kInOrder);
}

TEST_F(FlowOrderTest, AJumpOutsideTheWindowIsANewEpoch) {
  arrive(packet(100));
  EXPECT_EQ(arrive(packet(100 + kMaxGapPackets + 2)), Verdict::kNewEpoch);
  EXPECT_EQ(order_.next(), Psn(100 + kMaxGapPackets + 3));
  EXPECT_EQ(arrive(packet(0x600000)), Verdict::kNewEpoch);
}

TEST_F(FlowOrderTest, AReadRequestConsumesThePsnsOfItsResponse) {
  order_.learn_pmtu(1024);
  arrive(packet(10));
  EXPECT_EQ(arrive(read_request(11, 5000)), Verdict::kInOrder);
  EXPECT_EQ(order_.next(), Psn(16));
  EXPECT_EQ(arrive(packet(16)), Verdict::kInOrder);
}

TEST_F(FlowOrderTest, AReadRequestOfUnknownPmtuIsMeasuredByWhatFollows) {
  arrive(packet(10));
  arrive(read_request(11, 5000));
  EXPECT_EQ(arrive(packet(21)), Verdict::kInOrder);  // 10 packets of 512
  EXPECT_EQ(order_.pmtu_bytes(), 512);
  EXPECT_EQ(arrive(packet(23)), Verdict::kAhead);
}

TEST_F(FlowOrderTest, ANakedSenderTakesTheOrderBack) {
  for (std::uint32_t psn = 10; psn < 20; ++psn)
    arrive(packet(psn));
  order_.expect_rewind(Psn(15), {.earliest = now_ + 10ms, .latest = now_ + 1s});
  EXPECT_EQ(arrive(resent(16)), Verdict::kOld) << "cannot be the answer yet";
  now_ += 10ms;
  EXPECT_EQ(arrive(packet(20)), Verdict::kInOrder) << "still in flight";
  EXPECT_EQ(arrive(packet(17)), Verdict::kOld) << "a duplicate of what came before";
  EXPECT_EQ(arrive(resent(16)), Verdict::kAhead) << "15 was lost again";
  EXPECT_EQ(arrive(resent(15), 16), Verdict::kInOrder);
}

TEST_F(FlowOrderTest, AnExpectedRewindExpires) {
  for (std::uint32_t psn = 10; psn < 20; ++psn)
    arrive(packet(psn));
  order_.expect_rewind(Psn(15), {.earliest = now_, .latest = now_ + 1s});
  now_ += 2s;
  EXPECT_EQ(arrive(resent(15)), Verdict::kOld);
}

TEST_F(FlowOrderTest, TwoResentPacketsInSequenceTakeTheOrderBack) {
  for (std::uint32_t psn = 10; psn < 20; ++psn)
    arrive(packet(psn));
  EXPECT_EQ(arrive(resent(12)), Verdict::kOld);
  EXPECT_EQ(arrive(resent(13)), Verdict::kInOrder);
  EXPECT_EQ(arrive(resent(15)), Verdict::kAhead);
  EXPECT_EQ(order_.next(), Psn(14));
}

TEST_F(FlowOrderTest, APassWhoseBeginningTheReceiverMissesTooGoesBackToThat) {
  for (std::uint32_t psn = 10; psn < 30; ++psn)
    arrive(packet(psn));
  order_.expect_rewind(Psn(12), {.earliest = now_ + 10ms, .latest = now_ + 50ms});
  EXPECT_EQ(arrive(resent(14)), Verdict::kOld);
  EXPECT_EQ(arrive(resent(15)), Verdict::kAhead);
  EXPECT_EQ(order_.next(), Psn(12));
}

TEST_F(FlowOrderTest, APassThatBeganWithWhatWasAskedForGoesOnBehindIt) {
  for (std::uint32_t psn = 10; psn < 30; ++psn)
    arrive(packet(psn));
  order_.expect_rewind(Psn(14), {.earliest = now_ + 10ms, .latest = now_ + 50ms});
  EXPECT_EQ(arrive(resent(14)), Verdict::kOld) << "sooner than it could have been asked for";
  EXPECT_EQ(arrive(resent(15)), Verdict::kInOrder) << "14 was delivered just now";
  EXPECT_EQ(order_.next(), Psn(16));
}

TEST_F(FlowOrderTest, APassThatBeganTooSoonIsTheSameWhenItGoesOnInTime) {
  for (std::uint32_t psn = 10; psn < 30; ++psn)
    arrive(packet(psn));
  order_.expect_rewind(Psn(14), {.earliest = now_ + 10ms, .latest = now_ + 50ms});
  EXPECT_EQ(arrive(resent(14)), Verdict::kOld);
  now_ += 10ms;
  EXPECT_EQ(arrive(resent(15)), Verdict::kInOrder) << "14 was delivered just now";
  EXPECT_TRUE(order_.thrown_away_since(now_ - 10ms, Psn(16))) << "it is what was asked for";
}

TEST_F(FlowOrderTest, WhatTheReceiverHasAcknowledgedItDoesNotWait) {
  for (std::uint32_t psn = 10; psn < 30; ++psn)
    arrive(packet(psn));
  order_.receiver_has(Psn(22));
  EXPECT_EQ(arrive(resent(16)), Verdict::kOld);
  EXPECT_EQ(arrive(resent(17)), Verdict::kOld);
  EXPECT_EQ(order_.next(), Psn(22)) << "18 to 21 are no gap when the sender hears of it and leaves them out";
  EXPECT_EQ(arrive(resent(22)), Verdict::kInOrder);
}

TEST_F(FlowOrderTest, AnAcknowledgementMovesAnOrderThatWentBack) {
  for (std::uint32_t psn = 10; psn < 30; ++psn)
    arrive(packet(psn));
  arrive(resent(16));
  arrive(resent(17));
  EXPECT_EQ(order_.next(), Psn(18));
  EXPECT_TRUE(order_.receiver_has(Psn(22)));
  EXPECT_FALSE(order_.receiver_has(Psn(22)));
  EXPECT_EQ(arrive(resent(22)), Verdict::kInOrder);
  EXPECT_FALSE(order_.receiver_has(Psn(31))) << "which never came to it";
}

TEST_F(FlowOrderTest, AReceiverMayHaveGotWhatItAskedForBeforeItsQuestionLeft) {
  for (std::uint32_t psn = 10; psn < 20; ++psn)
    arrive(packet(psn));
  order_.expect_rewind(Psn(15), {.earliest = now_, .latest = now_ + 50ms});
  order_.thrown_away_from(Psn(15));
  order_.receiver_has(Psn(17));
  EXPECT_EQ(order_.received_until(), Psn(17));
  EXPECT_FALSE(order_.wants(Psn(16)));
  EXPECT_EQ(arrive(resent(15)), Verdict::kOld);
  EXPECT_EQ(arrive(resent(17)), Verdict::kInOrder) << "the sender has heard both";
}

TEST_F(FlowOrderTest, AnAcknowledgementOfWhatIsAskedForLaterWasAnothers) {
  for (std::uint32_t psn = 10; psn < 20; ++psn)
    arrive(packet(psn));
  order_.receiver_has(Psn(18));
  order_.expect_rewind(Psn(15), {.earliest = now_, .latest = now_ + 50ms});
  order_.thrown_away_from(Psn(15));
  EXPECT_EQ(arrive(resent(16)), Verdict::kAhead) << "15 was lost again";
  EXPECT_EQ(order_.next(), Psn(15));
}

TEST_F(FlowOrderTest, DuplicatesDoNotTakeTheOrderBack) {
  for (std::uint32_t psn = 10; psn < 20; ++psn)
    arrive(packet(psn));
  EXPECT_EQ(arrive(packet(12)), Verdict::kOld);
  EXPECT_EQ(arrive(packet(13)), Verdict::kOld);
  EXPECT_EQ(arrive(packet(20)), Verdict::kInOrder);
}

TEST_F(FlowOrderTest, AfterAFewResentPacketsTheSenderMayGoOnWhereItWas) {
  for (std::uint32_t psn = 0; psn < 200; ++psn)
    arrive(packet(psn));
  arrive(resent(12));
  arrive(resent(13));
  EXPECT_EQ(arrive(packet(200)), Verdict::kInOrder);
}

TEST_F(FlowOrderTest, AcknowledgementsLeaveNoGaps) {
  arrive(packet(10, Opcode::kRcAcknowledge));
  EXPECT_EQ(arrive(packet(40, Opcode::kRcAcknowledge)), Verdict::kInOrder);
  EXPECT_EQ(arrive(packet(20, Opcode::kRcAcknowledge)), Verdict::kOld);
}

TEST_F(FlowOrderTest, AnAcknowledgementDoesNotOvertakeReadData) {
  arrive(packet(10, Opcode::kRcRdmaReadResponseFirst));
  EXPECT_EQ(arrive(packet(12, Opcode::kRcRdmaReadResponseLast)), Verdict::kAhead);
  EXPECT_EQ(arrive(packet(13, Opcode::kRcAcknowledge), 12), Verdict::kAhead);
  EXPECT_EQ(arrive(packet(11, Opcode::kRcRdmaReadResponseMiddle), 12), Verdict::kInOrder);
  EXPECT_TRUE(order_.is_next(packet(12, Opcode::kRcRdmaReadResponseLast)));
}

TEST_F(FlowOrderTest, ReadDataWithoutItsBeginningWaitsForIt) {
  arrive(packet(10, Opcode::kRcAcknowledge));
  EXPECT_EQ(arrive(packet(15, Opcode::kRcRdmaReadResponseMiddle)), Verdict::kAhead);
  EXPECT_EQ(arrive(packet(20, Opcode::kRcAcknowledge), 15), Verdict::kAhead);
  EXPECT_EQ(arrive(packet(14, Opcode::kRcRdmaReadResponseFirst), 15), Verdict::kInOrder);
}

}  // namespace
}  // namespace weft::recovery
