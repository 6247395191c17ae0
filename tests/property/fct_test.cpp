// What the engine is for: message completion times, in virtual time at the lab's rate. The lab measures the same live.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

#include "netem/packet_kind.h"
#include "tests/property/sites_config.h"
#include "tests/support/seed.h"

namespace weft::test {
namespace {

using netem::PacketKind;
using sim::Side;

struct Figures {
  double mean = 0;
  double p99 = 0;
  double overhead = 0;  // repair and control over source bytes, both directions
};

// Under two bandwidth-delay products of window, as the lab gives one queue pair.
constexpr std::uint32_t kWindowPackets = 1530;

std::vector<sim::MessageOutcome> run(const Wan& wan, const recovery::PolicyTable* policy,
                                     std::size_t messages, Figures& figures) {
  std::vector<sim::MessageSpec> specs;
  Rng draw = rng(1);
  constexpr std::uint8_t kMarks[] = {kDscpExact, kDscpDpHigh, kDscpExact, kDscpPp};
  for (std::size_t i = 0; i < messages; ++i) {
    specs.push_back({.bytes = draw.chance(0.5) ? 1U << 20 : 4U << 20, .dscp = kMarks[i % 4]});
  }
  sim::TwoSites sites(sites_config(wan, policy, seed()));
  sim::Transfer transfer(sites, {.messages = specs, .window_packets = kWindowPackets, .seed = seed()});
  EXPECT_TRUE(transfer.run(std::chrono::hours(1)));
  double source = 0;
  double added = 0;
  for (const netem::Direction direction : netem::kDirections) {
    const auto& bytes = sites.wan(direction).ip_bytes;
    source += static_cast<double>(bytes[static_cast<std::size_t>(PacketKind::kSource)]);
    added += static_cast<double>(bytes[static_cast<std::size_t>(PacketKind::kRepair)]) +
             static_cast<double>(bytes[static_cast<std::size_t>(PacketKind::kControl)]);
    EXPECT_EQ(sites.wan(direction).tail_drops, 0U);
  }
  figures.overhead = added / source;
  for (const auto& outcome : transfer.outcomes()) {
    EXPECT_EQ(outcome.corrupt_bytes, 0U);
    EXPECT_TRUE(outcome.zero_runs.empty());
  }
  return transfer.outcomes();
}

Figures slowdown(const Wan& wan, const recovery::PolicyTable* policy, std::size_t messages) {
  Figures figures;
  Wan clean = wan;
  clean.loss = 0;
  Figures unused;
  const auto bound = run(clean, nullptr, messages, unused);
  const auto measured = run(wan, policy, messages, figures);
  std::vector<double> ratios;
  // The first message meets agents that have not met each other.
  for (std::size_t i = 1; i < measured.size(); ++i) {
    ratios.push_back(static_cast<double>(measured[i].completion_time.count()) /
                     static_cast<double>(bound[i].completion_time.count()));
  }
  std::ranges::sort(ratios);
  for (const double ratio : ratios)
    figures.mean += ratio / static_cast<double>(ratios.size());
  figures.p99 = ratios[static_cast<std::size_t>(0.99 * static_cast<double>(ratios.size() - 1))];
  return figures;
}

#if defined(__SANITIZE_ADDRESS__)
// Too few messages to judge times by: here the sanitizers are the test, and the bytes.
constexpr bool kJudgeTimes = false;
#else
constexpr bool kJudgeTimes = true;
#endif

std::size_t message_count() {
  const char* quick = std::getenv("WEFT_TEST_QUICK");
  if (!kJudgeTimes) return 25;
  return quick != nullptr && *quick != '\0' ? 40 : 120;
}

struct Cell {
  double loss;
  double burst;
  double most_p99;
  double most_of_excess;  // of go-back-N's p99 beyond the bound, that may be left
};

class CompletionTime : public testing::TestWithParam<Cell> {};

TEST_P(CompletionTime, IsNearTheBoundAndFarFromGoBackN) {
  const Cell cell = GetParam();
  const Wan wan{.loss = cell.loss, .burst = cell.burst};
  const auto policy = recovery::PolicyTable::defaults();
  const Figures gbn = slowdown(wan, nullptr, message_count());
  const Figures weft = slowdown(wan, &policy, message_count());
  std::printf("loss %g burst %g: gbn mean %.3f p99 %.3f; weft mean %.3f p99 %.3f, overhead %.1f %%\n",
              cell.loss, cell.burst, gbn.mean, gbn.p99, weft.mean, weft.p99, 100 * weft.overhead);
  if (!kJudgeTimes) return;
  EXPECT_LE(weft.p99, cell.most_p99);
  // A run so short may hardly have met a loss; then there is nothing to compare.
  constexpr double kWorthComparing = 0.3;
  if (gbn.p99 - 1 > kWorthComparing) {
    EXPECT_LE(weft.p99 - 1, cell.most_of_excess * (gbn.p99 - 1));
  }
}

// What is promised is the median of three longer runs; one short run of any seed must stay within these. At 1e-3 in bursts
// go-back-N's p99 in 120 messages is one resend, 1.4, of which the repairs' own bytes are a fifth and one missed block the
// rest.
INSTANTIATE_TEST_SUITE_P(Cells, CompletionTime,
                         testing::Values(Cell{1e-3, 1, 1.2, 0.3}, Cell{1e-3, 4, 1.3, 0.6},
                                         Cell{1e-2, 1, 1.4, 0.1}, Cell{1e-2, 4, 1.8, 0.3}));

TEST(CompletionTime, CleanLinkCostsAlmostNothing) {
  const auto policy = recovery::PolicyTable::defaults();
  const Figures weft = slowdown({}, &policy, message_count());
  std::printf("no loss: weft mean %.4f, overhead %.2f %%\n", weft.mean, 100 * weft.overhead);
  EXPECT_LE(weft.mean, 1.03);
  // A short run pays more for the strength agents begin with.
  EXPECT_LE(weft.overhead, message_count() >= 100 ? 0.0115 : 0.025);
}

}  // namespace
}  // namespace weft::test
