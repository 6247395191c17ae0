#include "agent/wire/feedback_clock.h"

#include <gtest/gtest.h>

namespace weft::wire {
namespace {

using namespace std::chrono_literals;

class FeedbackClockTest : public testing::Test {
 protected:
  void round_trip(Nanoseconds takes) {
    const auto sent_at_ns = static_cast<std::uint64_t>(now_.count());
    now_ += takes + 3ms;
    clock_.on_echo(sent_at_ns, std::chrono::nanoseconds(3ms).count(), now_);
  }
  FeedbackClock clock_;
  Nanoseconds now_{1s};
};

TEST_F(FeedbackClockTest, AQueueMovesTheRoundTripButHardlyTheLeast) {
  EXPECT_EQ(clock_.least_rtt(), std::nullopt);
  round_trip(30ms);
  for (int i = 0; i < 20; ++i)
    round_trip(90ms);
  EXPECT_GT(clock_.rtt(), 80ms);
  EXPECT_LT(clock_.least_rtt(), 36ms);
}

TEST_F(FeedbackClockTest, TheLeastFollowsAShorterPathAtOnceAndALongerOneInTime) {
  round_trip(30ms);
  round_trip(10ms);
  EXPECT_EQ(clock_.least_rtt(), 10ms);
  for (int i = 0; i < 1000; ++i)
    round_trip(60ms);
  EXPECT_GT(clock_.least_rtt(), 55ms);
}

}  // namespace
}  // namespace weft::wire
