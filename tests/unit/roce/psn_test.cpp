#include "agent/roce/psn.h"

#include <gtest/gtest.h>

#include "tests/support/seed.h"

namespace weft::roce {
namespace {

constexpr std::uint32_t kHalf = 1U << 23;

TEST(Psn, StaysWithin24Bits) {
  EXPECT_EQ(Psn(0x1000000).value, 0U);
  EXPECT_EQ(Psn(0xffffffff).value, 0xffffffU);
  EXPECT_EQ((Psn(0xffffff) + 1).value, 0U);
  EXPECT_EQ((Psn(0) - 1).value, 0xffffffU);
  Psn psn(0xfffffe);
  EXPECT_EQ((++psn).value, 0xffffffU);
  EXPECT_EQ((psn += 3).value, 2U);
}

TEST(Psn, DistanceIsSignedAndWraps) {
  EXPECT_EQ(psn_distance(Psn(5), Psn(5)), 0);
  EXPECT_EQ(psn_distance(Psn(5), Psn(7)), 2);
  EXPECT_EQ(psn_distance(Psn(7), Psn(5)), -2);
  EXPECT_EQ(psn_distance(Psn(0xfffffe), Psn(3)), 5);
  EXPECT_EQ(psn_distance(Psn(3), Psn(0xfffffe)), -5);
  EXPECT_EQ(psn_distance(Psn(0), Psn(kHalf - 1)), static_cast<std::int32_t>(kHalf - 1));
  EXPECT_EQ(psn_distance(Psn(0), Psn(kHalf)), -static_cast<std::int32_t>(kHalf));
}

TEST(Psn, OrderHoldsAcrossTheWrap) {
  EXPECT_TRUE(psn_before(Psn(0xffffff), Psn(0)));
  EXPECT_FALSE(psn_before(Psn(0), Psn(0xffffff)));
  EXPECT_FALSE(psn_before(Psn(9), Psn(9)));
  EXPECT_TRUE(psn_at_or_before(Psn(9), Psn(9)));
  EXPECT_TRUE(psn_at_or_before(Psn(0xffffff), Psn(0)));
  EXPECT_FALSE(psn_at_or_before(Psn(0), Psn(0xffffff)));
}

TEST(Psn, RunsWrapToo) {
  EXPECT_TRUE(psn_in_run(Psn(1), Psn(0xfffffe), 4));
  EXPECT_FALSE(psn_in_run(Psn(2), Psn(0xfffffe), 4));
  EXPECT_FALSE(psn_in_run(Psn(0xfffffd), Psn(0xfffffe), 4));
  EXPECT_FALSE(psn_in_run(Psn(7), Psn(7), 0));
  EXPECT_FALSE(psn_in_run(Psn(6), Psn(7), kPsnMask));
}

// rdma_rxe: psn_compare(a, b) is the sign of (a - b) << 8 as a signed 32-bit number.
TEST(Psn, AgreesWithRxeForRandomPairs) {
  Rng rng = test::rng(1);
  for (int i = 0; i < 100000; ++i) {
    const Psn a(static_cast<std::uint32_t>(rng.next()));
    const auto step = static_cast<std::uint32_t>(rng.below(kHalf));
    const Psn b = a + step;
    ASSERT_EQ(psn_distance(a, b), static_cast<std::int32_t>(step));
    ASSERT_EQ(psn_distance(b, a), -static_cast<std::int32_t>(step));
    const auto rxe = static_cast<std::int32_t>((a.value - b.value) << 8);
    ASSERT_EQ(psn_before(a, b), rxe < 0);
    ASSERT_EQ(b - step, a);
  }
}

}  // namespace
}  // namespace weft::roce
