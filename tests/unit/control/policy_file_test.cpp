#include "agent/control/policy_file.h"

#include <gtest/gtest.h>

namespace weft::control {
namespace {

TEST(PolicyFile, EmptyIsTheShippedPolicy) {
  const auto file = parse_policy_file("", "x.toml");
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_TRUE(file->agents);
  EXPECT_EQ(file->endpoint, EndpointRecovery::kGoBackN);
  EXPECT_EQ(file->traffic.classes.classes.size(), recovery::PolicyTable::defaults().classes.size());
}

TEST(PolicyFile, FixedCodeAndLevels) {
  const auto file = parse_policy_file(R"(
[endpoint]
recovery = "sr"
[class.pp]
target_residual = [1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, "none"]
fill_budget = [0, 0, 0, 0, 1e-4, 1e-4, 1e-4, 1e-4]
k = 32
r = 8
interleave = 4
[fec]
max_overhead = 0.35
ack_guard = false
min_fill_message = "4k"
)",
                                      "x.toml");
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_EQ(file->endpoint, EndpointRecovery::kSelectiveRepeat);
  const recovery::PolicyTable& table = file->traffic.classes;
  const recovery::ClassPolicy& pp = table.classes[*table.find("pp")];
  EXPECT_EQ(pp.levels[3].target_residual, 1e-6);
  EXPECT_EQ(pp.levels[7].target_residual, std::nullopt);
  EXPECT_FALSE(pp.may_fill(3));
  EXPECT_TRUE(pp.may_fill(4));
  ASSERT_TRUE(pp.fixed);
  EXPECT_EQ(pp.fixed->k, 32);
  EXPECT_EQ(pp.fixed->r, 8);
  EXPECT_EQ(pp.fixed->interleave, 4);
  EXPECT_DOUBLE_EQ(table.fec.max_overhead, 0.35);
  EXPECT_FALSE(table.fec.ack_guard);
  EXPECT_EQ(table.min_fill_message_bytes, 4096U);
}

TEST(PolicyFile, HoldsNothingElse) {
  const auto file = parse_policy_file("agents = false\nmode = \"protect\"\n", "x.toml");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().where, "x.toml:2");
  EXPECT_EQ(file.error().what, "unknown key 'mode'");
}

}  // namespace
}  // namespace weft::control
