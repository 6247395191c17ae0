#include "agent/recovery/policy.h"

#include <gtest/gtest.h>

namespace weft::recovery {
namespace {

TEST(Policy, OfTheShippedClassesOnlyDpLowAndLaterPipelineStagesMayBeFilled) {
  const PolicyTable table = PolicyTable::defaults();
  for (const ClassPolicy& row : table.classes) {
    for (std::uint8_t level = 0; level < kLevels; ++level) {
      const bool fillable = row.name == "dp-low" || (row.name == "pp" && level > 0);
      EXPECT_EQ(row.may_fill(level), fillable) << row.name << " level " << int{level};
    }
  }
}

TEST(Policy, FillingTakesABudgetAndAFallbackThatNamesIt) {
  ClassPolicy row = PolicyTable::defaults().classes[kClassExact];
  row.after = {Fallback::kFill, Fallback::kRelease};
  EXPECT_FALSE(row.may_fill(3)) << "no budget";
  row.levels[3].fill_budget = 1e-3;
  EXPECT_TRUE(row.may_fill(3));
  EXPECT_FALSE(row.may_fill(4)) << "levels have budgets of their own";
  row.after = {Fallback::kRelease};
  EXPECT_FALSE(row.may_fill(3));
}

}  // namespace
}  // namespace weft::recovery
