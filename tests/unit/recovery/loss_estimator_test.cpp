#include "agent/recovery/loss_estimator.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/support/seed.h"

namespace weft::recovery {
namespace {

// A receiver that counts what a two-state process loses, and reports as often as it is asked.
class Receiver {
 public:
  explicit Receiver(Rng rng) : rng_(rng) {}

  const wire::LossCounts& receive(unsigned packets, const fec::LossModel& model) {
    for (unsigned i = 0; i < packets; ++i) {
      const double to_bad = model.loss / (model.burst * (1 - model.loss));
      const bool before = lost_;
      lost_ = rng_.chance(before && model.burst > 1 ? 1 - 1 / model.burst : to_bad);
      ++counts_.expected_packets;
      if (!lost_) continue;
      ++counts_.lost_packets;
      if (!before) ++counts_.loss_runs;
    }
    return counts_;
  }
  wire::LossCounts& counts() { return counts_; }

 private:
  Rng rng_;
  bool lost_ = false;
  wire::LossCounts counts_;
};

// 200 Mbit/s at PMTU 1024, one report in 30 ms.
constexpr unsigned kPacketsPerReport = 700;
constexpr int kReportsPerSecond = 33;

TEST(LossEstimator, AssumesOneInAHundred) {
  const fec::LossModel model = LossEstimator().estimate();
  EXPECT_NEAR(model.loss, 1e-2, 1e-9);
  EXPECT_GE(model.burst, 1);
}

TEST(LossEstimator, CleanPacketsBoundTheLossByThreeOverN) {
  LossEstimator estimator;
  wire::LossCounts counts;
  for (const std::uint64_t packets : {100U, 500U}) {
    counts.expected_packets = packets;
    estimator.on_counts(counts);
    EXPECT_NEAR(estimator.estimate().loss, 1e-2, 1e-9) << "no evidence against the assumption yet";
  }
  for (const double packets : {1e4, 1e5, 1e6}) {
    counts.expected_packets = static_cast<std::uint64_t>(packets);
    estimator.on_counts(counts);
    // The bound is on runs, and a run has the assumed length until one is seen.
    EXPECT_NEAR(estimator.estimate().loss, 3 / packets * estimator.estimate().burst, 1e-3 / packets);
  }
}

TEST(LossEstimator, FindsLossAndBurstClosely) {
  for (const fec::LossModel model :
       {fec::LossModel{1e-3, 1}, fec::LossModel{1e-2, 1}, fec::LossModel{1e-2, 4}, fec::LossModel{3e-2, 8}}) {
    Receiver receiver(weft::test::rng(51));
    LossEstimator estimator;
    for (int report = 0; report < 60 * kReportsPerSecond; ++report)
      estimator.on_counts(receiver.receive(kPacketsPerReport, model));
    // Averaged, because what is tested is bias and not luck.
    double loss = 0;
    double burst = 0;
    constexpr int kReports = 30 * kReportsPerSecond;
    for (int report = 0; report < kReports; ++report) {
      estimator.on_counts(receiver.receive(kPacketsPerReport, model));
      loss += estimator.estimate().loss / kReports;
      burst += estimator.estimate().burst / kReports;
    }
    EXPECT_NEAR(loss / model.loss, 1, 0.4) << model.loss << " burst " << model.burst;
    EXPECT_NEAR(burst / model.burst, 1, 0.25) << model.loss << " burst " << model.burst;
  }
}

TEST(LossEstimator, FollowsAStepWithinTwoSecondsAndComesBack) {
  for (const double burst : {1.0, 4.0, 16.0}) {
    for (const int reports_per_second : {33, 16}) {
      Receiver receiver(weft::test::rng(52));
      LossEstimator estimator;
      const unsigned packets =
          kPacketsPerReport * kReportsPerSecond / static_cast<unsigned>(reports_per_second);
      for (int report = 0; report < 20 * reports_per_second; ++report)
        estimator.on_counts(receiver.receive(packets, {1e-4, burst}));
      EXPECT_LT(estimator.estimate().loss, burst > 8 ? 2e-2 : 6e-3);
      for (int report = 0; report < 2 * reports_per_second; ++report)
        estimator.on_counts(receiver.receive(packets, {1e-2, burst}));
      // Two seconds hold 470 independent losses, but only 29 bursts of 16.
      EXPECT_GT(estimator.estimate().loss, burst > 8 ? 1e-3 : 2.5e-3) << burst;
      EXPECT_LT(estimator.estimate().loss, burst > 8 ? 0.2 : 6e-2) << burst;
      if (burst > 1) {
        EXPECT_GT(estimator.estimate().burst, burst / 3);
      }
      for (int report = 0; report < 10 * reports_per_second; ++report)
        estimator.on_counts(receiver.receive(packets, {0, 1}));
      EXPECT_LT(estimator.estimate().loss, 6e-5 * burst) << burst;
    }
  }
}

TEST(LossEstimator, OneLossIsNotALossRate) {
  LossEstimator estimator;
  Receiver receiver(weft::test::rng(53));
  for (int report = 0; report < 300; ++report)
    estimator.on_counts(receiver.receive(kPacketsPerReport, {0, 1}));
  const double before = estimator.estimate().loss;
  receiver.counts().lost_packets += 1;
  receiver.counts().loss_runs += 1;
  estimator.on_counts(receiver.receive(kPacketsPerReport, {0, 1}));
  EXPECT_LE(estimator.estimate().loss, before * 1.01);
}

TEST(LossEstimator, IsNotRaisedByLossThatComesWithCongestion) {
  LossEstimator estimator;
  Receiver receiver(weft::test::rng(54));
  for (int report = 0; report < 100; ++report)
    estimator.on_counts(receiver.receive(kPacketsPerReport, {1e-4, 1}));
  const double before = estimator.estimate().loss;
  for (int report = 0; report < 100; ++report) {
    // Marks in one report, the losses of the same queue in the next.
    if (report % 2 == 0) receiver.counts().ce_marked_packets += 20;
    estimator.on_counts(receiver.receive(kPacketsPerReport, {report % 2 == 0 ? 0 : 0.03, 4}));
  }
  EXPECT_LE(estimator.estimate().loss, before * 1.01);
  for (int report = 0; report < 10; ++report)
    estimator.on_counts(receiver.receive(kPacketsPerReport, {0.03, 4}));
  EXPECT_GT(estimator.estimate().loss, 5e-3) << "without marks it is the path's";
}

TEST(LossEstimator, CountsThatRunBackwardsAreANewPath) {
  LossEstimator estimator;
  Receiver receiver(weft::test::rng(55));
  for (int report = 0; report < 100; ++report)
    estimator.on_counts(receiver.receive(kPacketsPerReport, {0.05, 1}));
  EXPECT_GT(estimator.estimate().loss, 1e-2);
  estimator.on_counts({});
  EXPECT_NEAR(estimator.estimate().loss, 1e-2, 1e-9);
}

TEST(LossEstimator, SurvivesCountsThatMakeNoSense) {
  LossEstimator estimator;
  Rng rng = weft::test::rng(56);
  wire::LossCounts counts;
  for (int report = 0; report < 20000; ++report) {
    const auto add = [&](std::uint64_t& count) {
      count += rng.chance(0.3) ? 0 : rng.next() >> rng.between(10, 63);
    };
    add(counts.expected_packets);
    add(counts.lost_packets);
    add(counts.loss_runs);
    add(counts.ce_marked_packets);
    if (rng.chance(0.01)) counts = {};
    estimator.on_counts(counts);
    const fec::LossModel model = estimator.estimate();
    ASSERT_TRUE(model.loss >= 0 && model.loss <= 0.5) << model.loss;
    ASSERT_TRUE(model.burst >= 1 && model.burst < 1e20) << model.burst;
  }
}

}  // namespace
}  // namespace weft::recovery
