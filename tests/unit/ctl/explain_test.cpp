#include "agent/ctl/explain.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace weft::ctl {
namespace {

using recovery::PolicyTable;
using recovery::Tag;

recovery::PathState path(double loss, double burst) {
  return {.loss = {loss, burst},
          .measured_loss = loss,
          .rtt = std::chrono::milliseconds(30),
          .endpoint_timeout = std::chrono::milliseconds(134),
          .wan_mtu_bytes = 1500,
          .ipv6 = false};
}
constexpr recovery::StreamState kStream{.packets_per_second = 23400, .packet_bytes = 1068};

Tag tag_of(const PolicyTable& policy, std::string_view name, std::uint8_t level = 0) {
  return {.class_id = policy.find(name).value(), .level = level};
}

// The explanation is worth something only if the agent does the same.
TEST(Explain, SaysWhatTheControllerDoes) {
  const PolicyTable policy = PolicyTable::defaults();
  for (const char* name : {"exact", "dp-high", "pp"}) {
    for (const double burst : {1.0, 5.0}) {
      // On a step of the controller's rounding, which is then none.
      const recovery::PathState situation = path(std::exp2(-10), burst);
      recovery::StreamState stream = kStream;
      stream.packets_per_second = std::exp2(14.5);
      const Tag tag = tag_of(policy, name);
      recovery::StrengthController controller;
      recovery::PathState exact_rtt = situation;
      exact_rtt.rtt = std::chrono::nanoseconds(31250000);  // 2^-5 s
      const fec::Strength& chosen = *controller.choose(policy.level(tag), policy.fec, exact_rtt, stream);
      const nlohmann::json said = explain(policy, tag, exact_rtt, stream);
      EXPECT_EQ(said["k"], chosen.columns) << name;
      EXPECT_EQ(said["r"], chosen.rows) << name;
      EXPECT_EQ(said["interleave"], chosen.interleave) << name;
      EXPECT_EQ(said["residual"], chosen.residual) << name;
      EXPECT_EQ(said["overhead"], chosen.overhead) << name;
      EXPECT_LE(said["residual"], *policy.level(tag).target_residual) << name;
      EXPECT_FALSE(said["assumptions"].empty());
    }
  }
}

TEST(Explain, LaterStagesOfAPipelineAreCodedLess) {
  const PolicyTable policy = PolicyTable::defaults();
  double before = 1;
  for (std::uint8_t level = 0; level < recovery::kLevels; ++level) {
    const double overhead = explain(policy, tag_of(policy, "pp", level), path(1e-2, 1), kStream)["overhead"];
    // A twentieth more may be spent where it shortens the wait.
    EXPECT_LE(overhead, before * 1.05);
    before = std::min(before, overhead);
  }
}

TEST(Explain, WhatIsNotCodedLosesWhatThePathLoses) {
  const PolicyTable policy = PolicyTable::defaults();
  for (const char* name : {"ack", "dp-low"}) {
    const nlohmann::json said = explain(policy, tag_of(policy, name), path(1e-3, 1), kStream);
    EXPECT_EQ(said["r"], 0) << name;
    EXPECT_EQ(said["residual"], 1e-3) << name;
    EXPECT_EQ(said["overhead"], 0.0) << name;
  }
  EXPECT_GT(explain(policy, tag_of(policy, "dp-low"), path(1e-2, 1), kStream)["r"], 0);
}

TEST(Explain, AFixedCodeIsAssessedAsItIs) {
  PolicyTable policy = PolicyTable::defaults();
  policy.classes[recovery::kClassExact].fixed = recovery::FixedCode{.k = 32, .r = 8, .interleave = 1};
  const nlohmann::json said = explain(policy, {}, path(1e-2, 4), kStream);
  EXPECT_EQ(said["k"], 32);
  EXPECT_EQ(said["r"], 8);
  EXPECT_DOUBLE_EQ(said["residual"], fec::residual_loss({fec::CodeKind::kReedSolomon, 32, 8}, 1, {1e-2, 4}));
  EXPECT_NEAR(said["overhead"], 0.29, 0.01);
}

}  // namespace
}  // namespace weft::ctl
