#include "netem/loss.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/seed.h"

namespace weft::netem {
namespace {

LossProfile gilbert(double p, double burst) {
  LossProfile profile;
  profile.model = burst > 1 ? LossProfile::Model::kGilbertElliott : LossProfile::Model::kIid;
  profile.probability = p;
  profile.mean_burst_packets = burst;
  return profile;
}

struct Measured {
  double loss = 0;
  double burst = 0;
};

// Of `packets` packets in one stream, or with `mixed` alternately in both (then of the second).
Measured measure(LossProcess& process, std::size_t packets, bool mixed) {
  std::size_t lost = 0;
  std::size_t runs = 0;
  bool previous = false;
  for (std::size_t i = 0; i < packets; ++i) {
    if (mixed) process.next_is_lost(Stream::kData);
    const bool now = process.next_is_lost(mixed ? Stream::kRest : Stream::kData);
    lost += now ? 1 : 0;
    runs += now && !previous ? 1 : 0;
    previous = now;
  }
  return {static_cast<double>(lost) / static_cast<double>(packets),
          static_cast<double>(lost) / static_cast<double>(runs)};
}

struct Case {
  double p;
  double burst;
};

class LossStatistics : public testing::TestWithParam<Case> {};

// The variance of the mean of a two-state chain is p(1-p)/n (1+rho)/(1-rho), with rho the correlation of
// neighbours, 1 - t_gb - t_bg. Five standard deviations: a right implementation fails once in two million
// runs.
TEST_P(LossStatistics, ProbabilityAndBurstAreThoseOfTheProfile) {
  const auto [p, burst] = GetParam();
  constexpr std::size_t kPackets = 4'000'000;
  LossProcess process(gilbert(p, burst), test::seed(), 0);
  const Measured measured = measure(process, kPackets, false);

  const double rho = burst > 1 ? 1 - p / (burst * (1 - p)) - 1 / burst : 0;
  const double loss_sd = std::sqrt(p * (1 - p) / kPackets * (1 + rho) / (1 - rho));
  EXPECT_NEAR(measured.loss, p, 5 * loss_sd);

  // Runs are geometric with mean b; independent losses have mean 1/(1-p).
  const double mean_run = burst > 1 ? burst : 1 / (1 - p);
  const double runs = kPackets * p / mean_run;
  const double run_sd = std::sqrt(mean_run * (mean_run - 1) / runs);
  EXPECT_NEAR(measured.burst, mean_run, 5 * run_sd + 1e-9);
}

TEST_P(LossStatistics, OtherPacketsLoseTheSameFractionOfPackets) {
  const auto [p, burst] = GetParam();
  constexpr std::size_t kPackets = 2'000'000;
  LossProcess process(gilbert(p, burst), test::seed(), 0);
  const Measured measured = measure(process, kPackets, true);
  const double rho = burst > 1 ? 1 - p / (burst * (1 - p)) - 1 / burst : 0;
  EXPECT_NEAR(measured.loss, p, 5 * std::sqrt(p * (1 - p) / kPackets * (1 + rho) / (1 - rho)));
}

INSTANTIATE_TEST_SUITE_P(Grid, LossStatistics,
                         testing::Values(Case{1e-3, 1}, Case{1e-2, 1}, Case{1e-3, 4}, Case{1e-2, 4},
                                         Case{1e-2, 16}, Case{0.3, 2}));

std::vector<bool> data_losses(double p, double burst, std::uint64_t seed, int repairs_per_100_packets) {
  LossProcess process(gilbert(p, burst), seed, 0);
  std::vector<bool> lost;
  int repairs_due = 0;
  for (int i = 0; i < 100'000; ++i) {
    lost.push_back(process.next_is_lost(Stream::kData));
    for (repairs_due += repairs_per_100_packets; repairs_due >= 100; repairs_due -= 100)
      process.next_is_lost(Stream::kRest);
  }
  return lost;
}

TEST(Loss, RepairsDoNotChangeWhichDataPacketsAreLost) {
  for (const double burst : {1.0, 4.0}) {
    const auto bare = data_losses(1e-2, burst, test::seed(), 0);
    EXPECT_EQ(bare, data_losses(1e-2, burst, test::seed(), 7));
    EXPECT_EQ(bare, data_losses(1e-2, burst, test::seed(), 300));
    EXPECT_NE(bare, data_losses(1e-2, burst, test::seed() + 1, 0));
  }
}

TEST(Loss, ARepairInsideABurstDiesInIt) {
  LossProcess process(gilbert(1e-2, 16), test::seed(), 0);
  int in_burst = 0;
  int repairs_lost = 0;
  while (in_burst < 2000) {
    if (!process.next_is_lost(Stream::kData)) continue;
    ++in_burst;
    repairs_lost += process.next_is_lost(Stream::kRest) ? 1 : 0;
  }
  // 15/16 of them, within five standard deviations.
  EXPECT_NEAR(repairs_lost / 2000.0, 15.0 / 16, 5 * std::sqrt(15.0 / 256 / 2000));
}

TEST(Loss, TraceIsPlayedInOrderAndAgain) {
  LossProfile profile;
  profile.model = LossProfile::Model::kTrace;
  profile.trace =
      std::make_shared<const std::vector<bool>>(std::vector<bool>{false, true, true, false, false});
  LossProcess process(profile, test::seed(), 0);
  std::vector<bool> lost;
  for (int i = 0; i < 10; ++i) {
    lost.push_back(process.next_is_lost(Stream::kData));
    process.next_is_lost(Stream::kRest);
  }
  EXPECT_EQ(lost, (std::vector<bool>{false, true, true, false, false, false, true, true, false, false}));
}

}  // namespace
}  // namespace weft::netem
