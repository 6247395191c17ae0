#include "agent/recovery/fill_budget.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/support/seed.h"

namespace weft::recovery {
namespace {

TEST(FillBudget, IsEarnedBeforeItIsSpent) {
  FillBudget budget(0.01, 1.0);
  MessageFill message{.message_bytes = 1'000'000};
  EXPECT_EQ(budget.fill(1, message), FillDecision::kOverBudget);
  budget.delivered(99'999);
  EXPECT_EQ(budget.fill(1000, message), FillDecision::kOverBudget);
  budget.delivered(1);
  EXPECT_EQ(budget.fill(1000, message), FillDecision::kGranted);
  EXPECT_EQ(budget.fill(1, message), FillDecision::kOverBudget);
}

TEST(FillBudget, AMessageHasItsOwnCap) {
  FillBudget budget(0.5, 0.05);
  budget.delivered(1'000'000);
  MessageFill message{.message_bytes = 100'000};
  EXPECT_EQ(budget.fill(5000, message), FillDecision::kGranted);
  EXPECT_EQ(budget.fill(1, message), FillDecision::kOverMessageCap);
  MessageFill other{.message_bytes = 100'000};
  EXPECT_EQ(budget.fill(5000, other), FillDecision::kGranted);
}

TEST(FillBudget, NoBudgetNoFill) {
  FillBudget budget(0, 0);
  budget.delivered(1ULL << 40);
  MessageFill message{.message_bytes = 1U << 30};
  EXPECT_EQ(budget.fill(1, message), FillDecision::kOverBudget);
}

TEST(FillBudget, ACancelledFillMayBeSpentAgain) {
  FillBudget budget(0.1, 0.5);
  budget.delivered(10'000);
  MessageFill message{.message_bytes = 4000};
  ASSERT_EQ(budget.fill(1000, message), FillDecision::kGranted);
  budget.cancel(1000, message);
  EXPECT_EQ(message.filled_bytes, 0U);
  EXPECT_EQ(budget.fill(1000, message), FillDecision::kGranted);
}

TEST(FillBudget, WhatAnEarlierAccountGrantedIsNotOwedByThisOne) {
  FillBudget budget(0.1, 0.5);
  MessageFill message{.message_bytes = 4000};
  budget.cancel(500, message);
  EXPECT_EQ(budget.filled_bytes(), 0U);
  EXPECT_EQ(message.filled_bytes, 0U);
  budget.delivered(10'000);
  EXPECT_EQ(budget.fill(1000, message), FillDecision::kGranted);
}

// Both bounds after every step of a random history, and nothing is refused that would have been within them.
TEST(FillBudget, BothBoundsHoldThroughAnyHistory) {
  Rng rng = weft::test::rng(32);
  for (int round = 0; round < 100; ++round) {
    const double share = rng.uniform() * 0.05;
    const double cap = rng.uniform() * 0.1;
    FillBudget budget(share, cap);
    std::vector<MessageFill> messages;
    for (int i = 0; i < 5; ++i)
      messages.push_back({.message_bytes = rng.between(65536, 1 << 22)});
    double delivered = 0;
    double filled = 0;
    for (int step = 0; step < 2000; ++step) {
      if (rng.chance(0.9)) {
        const std::uint64_t bytes = rng.between(1, 4096);
        delivered += static_cast<double>(bytes);
        budget.delivered(bytes);
        continue;
      }
      MessageFill& message = messages[rng.below(messages.size())];
      const auto bytes = rng.between(1, 4096);
      const auto wanted = static_cast<double>(bytes);
      const double of_message = static_cast<double>(message.filled_bytes) + wanted;
      const double of_message_cap = cap * static_cast<double>(message.message_bytes);
      switch (budget.fill(bytes, message)) {
        case FillDecision::kGranted:
          filled += wanted;
          ASSERT_LE(filled, share * delivered);
          ASSERT_LE(of_message, of_message_cap);
          if (rng.chance(0.1)) {
            budget.cancel(bytes, message);
            filled -= wanted;
          }
          break;
        case FillDecision::kOverBudget:
          ASSERT_GT(filled + wanted, share * delivered - 1);
          break;
        case FillDecision::kOverMessageCap:
          ASSERT_GT(of_message, of_message_cap - 1);
          break;
      }
    }
  }
}

}  // namespace
}  // namespace weft::recovery
