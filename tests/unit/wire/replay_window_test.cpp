#include "agent/wire/replay_window.h"

#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "tests/support/seed.h"

namespace weft::wire {
namespace {

bool accept(ReplayWindow& window, std::uint64_t counter) {
  if (!window.is_new(counter)) return false;
  window.mark(counter);
  return true;
}

TEST(ReplayWindow, EachCounterOnceInAnyOrder) {
  ReplayWindow window;
  EXPECT_FALSE(window.is_new(0));
  for (const std::uint64_t counter : {5, 3, 4, 1, 2, 6})
    EXPECT_TRUE(accept(window, counter));
  for (std::uint64_t counter = 0; counter <= 6; ++counter)
    EXPECT_FALSE(accept(window, counter));
}

TEST(ReplayWindow, ItsEdgeIsExact) {
  ReplayWindow window;
  EXPECT_TRUE(accept(window, 10'000));
  EXPECT_TRUE(accept(window, 10'000 - ReplayWindow::kCounters + 1));
  EXPECT_FALSE(window.is_new(10'000 - ReplayWindow::kCounters));
}

TEST(ReplayWindow, AJumpForgetsNothingItMustKnow) {
  ReplayWindow window;
  for (std::uint64_t counter = 1; counter <= 3000; ++counter)
    EXPECT_TRUE(accept(window, counter));
  EXPECT_TRUE(accept(window, 4000));
  EXPECT_FALSE(window.is_new(3000));
  EXPECT_TRUE(window.is_new(3001));
  EXPECT_TRUE(accept(window, 1'000'000'000'000));
  EXPECT_FALSE(window.is_new(4000));
  EXPECT_TRUE(window.is_new(1'000'000'000'000 - 5));
}

TEST(ReplayWindow, TheLastCountersOfAll) {
  ReplayWindow window;
  constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
  EXPECT_TRUE(accept(window, kLast - 1));
  EXPECT_TRUE(accept(window, kLast));
  EXPECT_FALSE(accept(window, kLast));
  EXPECT_TRUE(accept(window, kLast - ReplayWindow::kCounters + 1));
  EXPECT_FALSE(window.is_new(1));
}

// Against the obvious implementation: the set of all counters ever accepted.
TEST(ReplayWindow, AgreesWithASet) {
  Rng rng = test::rng(1);
  for (int run = 0; run < 50; ++run) {
    ReplayWindow window;
    std::set<std::uint64_t> accepted;
    std::uint64_t highest = 0;
    std::uint64_t next = rng.chance(0.5) ? 1 : rng.next() >> 1;
    for (int i = 0; i < 5000; ++i) {
      next += rng.chance(0.002) ? rng.below(10'000) : rng.below(3);
      const std::uint64_t back = rng.below(2 * ReplayWindow::kCounters);
      const std::uint64_t counter = rng.chance(0.5) || back >= next ? next : next - back;
      const bool expected = counter > 0 && !accepted.contains(counter) &&
                            (counter > highest || highest - counter < ReplayWindow::kCounters);
      ASSERT_EQ(accept(window, counter), expected) << counter << " below " << highest;
      if (expected) accepted.insert(counter);
      highest = std::max(highest, expected ? counter : 0);
    }
  }
}

}  // namespace
}  // namespace weft::wire
