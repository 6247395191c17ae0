#include "agent/recovery/loss_judge.h"

#include <gtest/gtest.h>

#include "tests/support/seed.h"

namespace weft::recovery {
namespace {

using namespace std::chrono_literals;
using Fate = LossJudge::Fate;

void judge_list(LossJudge& judge, std::uint32_t first, const std::vector<bool>& lost, Time now) {
  for (std::size_t i = 0; i < lost.size(); ++i)
    judge.judge(first + static_cast<std::uint32_t>(i), lost[i] ? Fate::kLost : Fate::kReceived);
  judge.list_ended(first + static_cast<std::uint32_t>(lost.size()), now, 5ms);
}

TEST(LossJudge, CountsRunsOverOrdinalsWhateverListNamedThem) {
  LossJudge judge;
  wire::LossCounts counts;
  // Two interleaved blocks: 0 2 4 6 and 1 3 5 7; 2 to 4 are lost, and 7.
  for (const std::uint32_t ordinal : {0U, 2U, 4U, 6U})
    judge.judge(ordinal, ordinal == 2 || ordinal == 4 ? Fate::kLost : Fate::kReceived);
  for (const std::uint32_t ordinal : {1U, 3U, 5U, 7U})
    judge.judge(ordinal, ordinal == 3 || ordinal == 7 ? Fate::kLost : Fate::kReceived);
  judge.list_ended(8, 0ms, 5ms);
  judge.settle(4ms, counts);
  EXPECT_EQ(counts.expected_packets, 0U) << "not settled yet";
  judge.settle(5ms, counts);
  EXPECT_EQ(counts, (wire::LossCounts{.expected_packets = 8, .lost_packets = 4, .loss_runs = 2}));
}

TEST(LossJudge, ALatePacketWasNotLost) {
  LossJudge judge;
  wire::LossCounts counts;
  judge_list(judge, 100, {false, true, false}, 0ms);
  judge.late(101);
  judge.settle(5ms, counts);
  EXPECT_EQ(counts, (wire::LossCounts{.expected_packets = 3}));
  judge.late(101);
  judge.settle(6ms, counts);
  EXPECT_EQ(counts.lost_packets, 0U);
}

TEST(LossJudge, UnknownOrdinalsAreNeitherExpectedNorLost) {
  LossJudge judge;
  wire::LossCounts counts;
  judge_list(judge, 0, {true, true}, 0ms);
  judge_list(judge, 10, {true}, 0ms);
  judge.settle(5ms, counts);
  EXPECT_EQ(counts, (wire::LossCounts{.expected_packets = 3, .lost_packets = 3, .loss_runs = 2}));
}

TEST(LossJudge, TheFirstJudgementStands) {
  LossJudge judge;
  wire::LossCounts counts;
  judge_list(judge, 0, {true, false}, 0ms);
  judge_list(judge, 0, {false, true}, 0ms);
  judge.settle(5ms, counts);
  EXPECT_EQ(counts, (wire::LossCounts{.expected_packets = 2, .lost_packets = 1, .loss_runs = 1}));
}

TEST(LossJudge, KnowsWhatWasListedAndWhatWasNot) {
  LossJudge judge;
  judge_list(judge, 0xfffffffe, {false, true, false, false}, 0ms);  // across the wrap
  EXPECT_TRUE(judge.all_known(0xfffffffe, 2));
  EXPECT_FALSE(judge.all_known(0xfffffffe, 3));
  EXPECT_TRUE(judge.all_known(1, 1));
  EXPECT_FALSE(judge.all_known(2, 1));
  EXPECT_EQ(judge.covered(), 2U);
}

TEST(LossJudge, OrdinalsThatStartAnewAreCountedAnew) {
  LossJudge judge;
  wire::LossCounts counts;
  judge_list(judge, 5'000'000, {true}, 0ms);
  judge.settle(5ms, counts);
  judge_list(judge, 0, {true, true}, 10ms);
  judge.settle(20ms, counts);
  EXPECT_EQ(counts.lost_packets, 3U);
  EXPECT_EQ(judge.covered(), 2U);
}

TEST(LossJudge, AgreesWithAPlainCountOverLongRuns) {
  Rng rng = test::rng(1);
  LossJudge judge;
  wire::LossCounts counts;
  wire::LossCounts plain;
  bool bad = false;
  bool last = false;
  Time now{};
  std::uint32_t ordinal = 0xffff0000;
  for (int list = 0; list < 5000; ++list) {
    std::vector<bool> lost(rng.between(1, 60));
    for (auto&& one : lost) {
      bad = bad ? !rng.chance(0.3) : rng.chance(0.02);
      one = bad;
      ++plain.expected_packets;
      plain.lost_packets += bad ? 1 : 0;
      plain.loss_runs += bad && !last ? 1 : 0;
      last = bad;
    }
    judge_list(judge, ordinal, lost, now);
    ordinal += static_cast<std::uint32_t>(lost.size());
    now += 1ms;
    if (rng.chance(0.05)) judge.settle(now, counts);
  }
  judge.settle(now + 1s, counts);
  EXPECT_EQ(counts, plain);
}

}  // namespace
}  // namespace weft::recovery
