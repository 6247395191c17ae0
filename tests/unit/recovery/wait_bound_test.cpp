#include "agent/recovery/wait_bound.h"

#include <gtest/gtest.h>

#include "agent/recovery/hold_bound.h"

namespace weft::recovery {
namespace {

using namespace std::chrono_literals;

TEST(HoldBound, LeavesTheEndpointItsTimeout) {
  EXPECT_EQ(hold_bound(30ms, 67ms), 20250us);
  EXPECT_EQ(hold_bound(60ms, 67ms), Time::zero());
  EXPECT_EQ(hold_bound(10ms, 4300ms), 100ms);
}

TEST(DecayingMaximum, FollowsUpAtOnceAndDownWithTime) {
  DecayingMaximum largest;
  largest.observe(10ms, 1s);
  largest.observe(2ms, 1s);
  EXPECT_EQ(largest.value(), 10ms) << "a burst of small values is forgotten as fast as it comes";
  largest.observe(2ms, 3s);
  EXPECT_EQ(largest.value(), 6ms);
  largest.observe(2ms, 30s);
  EXPECT_EQ(largest.value(), 2ms);
  largest.observe(7ms, 30s);
  EXPECT_EQ(largest.value(), 7ms);
}

TEST(ReorderAllowance, StaysWithinItsBoundsAndIgnoresRetransmissions) {
  ReorderAllowance allowance;
  EXPECT_EQ(allowance.value(), 1ms);
  allowance.observe_late(3ms, 30ms, 1s);
  EXPECT_EQ(allowance.value(), 6ms);
  allowance.observe_late(15ms, 30ms, 1s);
  EXPECT_EQ(allowance.value(), 6ms) << "half a round trip late: sent again";
  allowance.observe_late(19ms, 60ms, 1s);
  EXPECT_EQ(allowance.value(), 20ms);
}

TEST(BlockSpan, WaitsForWhatABlockTakesAndNeverBeyondTheBound) {
  BlockSpan span;
  for (int i = 0; i < 7; ++i)
    span.observe(4ms, 1s);
  EXPECT_EQ(span.wait(1ms, 40ms), 40ms) << "too little was seen";
  span.observe(4ms, 1s);
  EXPECT_EQ(span.wait(1ms, 40ms), 7ms);
  span.observe(38ms, 1s);
  EXPECT_EQ(span.wait(1ms, 40ms), 40ms);
  EXPECT_EQ(span.wait(1ms, 0ms), 0ms);
}

}  // namespace
}  // namespace weft::recovery
