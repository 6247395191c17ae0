#include "agent/recovery/adaptation.h"

#include <cmath>

#include <gtest/gtest.h>

#include "agent/recovery/packet_rate.h"
#include "tests/support/seed.h"

namespace weft::recovery {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr StreamState kStream{.packets_per_second = 23400, .packet_bytes = 1068};

PathState path(double loss, double burst) {
  return {.loss = {loss, burst},
          .measured_loss = loss,
          .rtt = milliseconds(30),
          .endpoint_timeout = milliseconds(134),
          .wan_mtu_bytes = 1500,
          .ipv6 = false};
}

TEST(Steady, StaysOnTheSafeSideAndMovesByNoLessThanAFactorOfTwo) {
  Rng rng = weft::test::rng(61);
  Steady high(Steady::Safe::kHigh);
  Steady low(Steady::Safe::kLow);
  for (int i = 0; i < 10000; ++i) {
    const double value = std::exp2(rng.uniform() * 20 - 10);
    const double above = high.follow(value);
    const double below = low.follow(value);
    ASSERT_GE(above, value * (1 - 1e-9));
    ASSERT_LE(above, value * 2.0001);
    ASSERT_LE(below, value * (1 + 1e-9));
    ASSERT_GE(below, value / 2.0001);
  }
  high.follow(0);
  const double held = high.follow(0.001);
  EXPECT_EQ(high.follow(0.0007), held);
  EXPECT_EQ(high.follow(0), 0);
}

TEST(Steady, WhatHasSettledIsFollowedToTheOutermostOfIt) {
  Steady steady(Steady::Safe::kHigh, 3);
  const double held = steady.follow(16);
  EXPECT_EQ(steady.follow(10), held);
  EXPECT_EQ(steady.follow(12), held);
  EXPECT_EQ(steady.follow(15.9), held) << "the same step: it has not settled lower";
  EXPECT_EQ(steady.follow(10), held);
  EXPECT_EQ(steady.follow(12), held);
  const double settled = steady.follow(11);
  EXPECT_GE(settled, 12);
  EXPECT_LT(settled, 12 * std::exp2(0.125));
  EXPECT_GE(steady.follow(13), 13) << "at once in the safe direction";
}

TEST(SteadyPath, AnEstimateThatWandersAboutTheTruthEndsNearIt) {
  Rng rng = weft::test::rng(63);
  SteadyPath steady;
  PathState followed = steady.follow(path(1e-2, 2));
  for (int report = 0; report < 500; ++report)
    followed = steady.follow(path(1e-3 * (1 + 0.3 * rng.uniform()), 4 * (1 + 0.1 * rng.uniform())));
  EXPECT_GE(followed.loss.loss, 1.25e-3);
  EXPECT_LE(followed.loss.loss, 1.3e-3 * std::exp2(0.125));
  EXPECT_GE(followed.loss.burst, 4.3);
  EXPECT_LE(followed.loss.burst, 1 + 3.4 * std::exp2(0.125));
}

TEST(SteadyPath, QueuesDoNotLengthenWhatCodingCountsOn) {
  Rng rng = weft::test::rng(64);
  SteadyPath steady;
  PathState followed;
  for (int report = 0; report < 200; ++report) {
    PathState queueing = path(1e-3, 4);
    queueing.rtt = nanoseconds(static_cast<std::int64_t>((30 + 15 * rng.uniform()) * 1e6));
    followed = steady.follow(queueing);
  }
  EXPECT_GE(*followed.rtt, milliseconds(43)) << "an endpoint's timer has to bear them";
  EXPECT_LE(*followed.least_rtt, milliseconds(31));
  EXPECT_LE(coding_hold(followed), milliseconds(31) * 3 / 2);
}

TEST(PacketRate, IsThatOfTheStreamWhileItSends) {
  PacketRate rate;
  EXPECT_EQ(rate.packets_per_second(), 0);
  Time now{};
  for (int message = 0; message < 5; ++message) {
    for (int i = 0; i < 100; ++i) {
      // Batches of eight carry one time.
      if (i % 8 == 0) now += microseconds(8 * 50);
      rate.on_packet(i % 50 == 0 ? 1084 : 1068, now);
      if (i > 60) {
        EXPECT_NEAR(rate.packets_per_second(), 20000, 2000);
      }
    }
    now += milliseconds(40);
  }
  EXPECT_EQ(rate.largest_bytes(), 1084U);
}

TEST(PacketRate, FollowsBothWays) {
  PacketRate rate;
  Time now{};
  for (const int gap_us : {1000, 10, 5000}) {
    for (int i = 0; i < 200; ++i)
      rate.on_packet(500, now += microseconds(gap_us));
    EXPECT_NEAR(rate.packets_per_second() * gap_us / 1e6, 1, 0.05);
  }
}

TEST(StrengthController, CodesAsTheChooserSays) {
  StrengthController controller;
  const LevelPolicy level{.target_residual = 1e-7};
  const fec::Strength* strength = controller.choose(level, {}, path(1e-3, 1), kStream);
  ASSERT_NE(strength, nullptr);
  EXPECT_TRUE(strength->meets_target);
  EXPECT_TRUE(strength->fits_hold_bound);
  EXPECT_LT(strength->overhead, 0.05);
  EXPECT_LT(strength->added_delay, milliseconds(45));
}

TEST(StrengthController, DoesNotFlap) {
  SteadyPath steady;
  StrengthController controller;
  const LevelPolicy level{.target_residual = 1e-7};
  Rng rng = weft::test::rng(62);
  fec::Strength before;
  int changes = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto wobble = [&](double value) { return value * (0.8 + 0.4 * rng.uniform()); };
    PathState p = path(wobble(2e-3), wobble(4));
    p.rtt = nanoseconds(static_cast<std::int64_t>(wobble(30e6)));
    const StreamState stream{.packets_per_second = wobble(20000), .packet_bytes = 1068};
    const fec::Strength* now = controller.choose(level, {}, steady.follow(p), stream);
    ASSERT_NE(now, nullptr);
    if (*now != before) ++changes;
    before = *now;
  }
  EXPECT_LE(changes, 60) << "a step is found or settles, but no oftener than every thirty reports";
}

TEST(StrengthController, AShortBlockSendsLessAndStillMeetsTheTarget) {
  StrengthController controller;
  const LevelPolicy level{.target_residual = 1e-7};
  const fec::Strength strength = *controller.choose(level, {}, path(1e-2, 4), kStream);
  ASSERT_TRUE(strength.meets_target);
  EXPECT_EQ(controller.rows_for(strength.columns), strength.rows);
  EXPECT_LT(controller.rows_for(strength.columns / 4), strength.rows);
  for (unsigned columns = 1; columns <= strength.columns; ++columns) {
    const unsigned rows = controller.rows_for(columns);
    ASSERT_GE(rows, 1U);
    ASSERT_LE(
        fec::residual_loss({fec::CodeKind::kReedSolomon, columns, rows}, strength.interleave, {1e-2, 4}),
        1e-7);
  }
}

TEST(StrengthController, XorKeepsEveryRowThatHasColumns) {
  StrengthController controller;
  const fec::Strength strength =
      *controller.choose({.target_residual = 1e-5}, {.code = CodeKind::kXor}, path(1e-3, 1), kStream);
  for (unsigned columns = 1; columns <= strength.columns; ++columns)
    EXPECT_EQ(controller.rows_for(columns), std::min(strength.rows, columns));
}

TEST(StrengthController, AClassThatBearsTheLossIsNotCoded) {
  StrengthController controller;
  const LevelPolicy dp_low{.target_residual = 2.5e-3, .uncoded_below_loss = 2.5e-3};
  EXPECT_EQ(controller.choose(dp_low, {}, path(1e-3, 1), kStream), nullptr);
  EXPECT_NE(controller.choose(dp_low, {}, path(1e-2, 1), kStream), nullptr);
  EXPECT_NE(controller.choose(dp_low, {}, path(2e-3, 1), kStream), nullptr) << "not at the same point back";
  EXPECT_EQ(controller.choose(dp_low, {}, path(1e-3, 1), kStream), nullptr);
  EXPECT_EQ(controller.choose({.target_residual = std::nullopt}, {}, path(0.1, 1), kStream), nullptr);
}

TEST(StrengthController, WithoutAMeasuredRoundTripItCodesForAFastStream) {
  StrengthController controller;
  PathState unknown = path(1e-3, 2);
  unknown.rtt = std::nullopt;
  const fec::Strength* strength = controller.choose({.target_residual = 1e-7}, {}, unknown, {0, 1068});
  ASSERT_NE(strength, nullptr);
  EXPECT_TRUE(strength->meets_target);
}

}  // namespace
}  // namespace weft::recovery
