#include "testbed/rc/driver/plan.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

namespace weft::rc {
namespace {

const std::vector<TrafficClass> classes{{"exact", 26}, {"dp-high", 10}};

Plan small_plan(PlanOptions options) {
  return make_plan(mixed_messages(100, {1U << 20, 4U << 20}, classes, options.seed), options);
}

TEST(Plan, BothEndsDeriveTheSame) {
  const Plan a = small_plan({.slots = 4, .first_psn = std::nullopt, .seed = 5});
  const Plan b = small_plan({.slots = 4, .first_psn = std::nullopt, .seed = 5});
  ASSERT_EQ(a.qps.size(), 8U);
  for (std::size_t i = 0; i < a.qps.size(); ++i) {
    EXPECT_EQ(a.qps[i].requester_qpn, b.qps[i].requester_qpn);
    EXPECT_EQ(a.qps[i].requester_psn, b.qps[i].requester_psn);
    EXPECT_EQ(a.qps[i].messages, b.qps[i].messages);
  }
}

TEST(Plan, SizesComeInEqualNumbersInAnOrderOfTheSeed) {
  const auto one = mixed_messages(100, {10, 20}, classes, 1);
  const auto other = mixed_messages(100, {10, 20}, classes, 2);
  EXPECT_EQ(std::count_if(one.begin(), one.end(), [](const auto& m) { return m.bytes == 10; }), 50);
  EXPECT_FALSE(std::equal(one.begin(), one.end(), other.begin(),
                          [](const auto& a, const auto& b) { return a.bytes == b.bytes; }));
}

TEST(Plan, ASlotHasOneQueuePairPerClassAndItsOwnMemory) {
  const Plan plan = small_plan({.slots = 4, .first_psn = std::nullopt});
  std::set<std::pair<std::uint32_t, std::string>> pairs;
  std::set<std::uint32_t> qpns;
  for (const PlannedQp& qp : plan.qps) {
    EXPECT_TRUE(pairs.insert({qp.slot, qp.traffic_class.name}).second);
    EXPECT_TRUE(qpns.insert(qp.responder_qpn).second);
  }
  for (std::size_t i = 1; i < plan.slots.size(); ++i) {
    EXPECT_GE(plan.slots[i].va, plan.slots[i - 1].va + plan.slots[i - 1].buffer_bytes);
    EXPECT_NE(plan.slots[i].rkey, plan.slots[i - 1].rkey);
  }
}

TEST(Plan, WarmupComesFirstAndLeavesTheRestAsItIs) {
  const auto messages = mixed_messages(20, {1U << 20}, classes, 1);
  const Plan plan = make_plan(messages, {.slots = 4, .first_psn = 0, .warmup_messages = 3});
  ASSERT_EQ(plan.messages.size(), 23U);
  EXPECT_EQ(plan.slots[0].messages.front(), 0U);
  EXPECT_EQ(plan.qps[0].messages, (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_EQ(plan.qps[0].traffic_class, (TrafficClass{"warmup", messages[0].traffic_class.dscp}));
  for (std::size_t i = 0; i < messages.size(); ++i) {
    EXPECT_EQ(plan.messages[3 + i].slot, i % 4);
    EXPECT_EQ(plan.messages[3 + i].bytes, messages[i].bytes);
  }
}

TEST(Plan, PsnsFollowFromTheMessagesBefore) {
  const Plan plan = small_plan({.slots = 1, .first_psn = 0});
  for (const PlannedQp& qp : plan.qps) {
    roce::Psn psn;
    for (const std::uint64_t id : qp.messages) {
      EXPECT_EQ(plan.messages[id].first_psn, psn);
      psn += plan.messages[id].bytes / 1024;
    }
  }
}

TEST(Workload, ReadsLinesAndNamesTheBadOne) {
  const auto good = parse_workload(
      "{\"bytes\":5,\"class\":\"pp\",\"dscp\":18,\"layer\":3}\n\n"
      "{\"bytes\":0,\"class\":\"exact\",\"dscp\":26}",
      "w");
  ASSERT_TRUE(good);
  ASSERT_EQ(good->size(), 2U);
  EXPECT_EQ((*good)[0].bytes, 5U);
  EXPECT_EQ((*good)[0].traffic_class, (TrafficClass{"pp", 18}));
  for (const char* bad :
       {"{\"bytes\":-1,\"class\":\"a\",\"dscp\":1}", "{\"bytes\":1,\"class\":\"a\",\"dscp\":64}",
        "{\"bytes\":1,\"class\":2,\"dscp\":1}", "[]", "{", "{\"bytes\":1,\"dscp\":1}"}) {
    const auto parsed = parse_workload(std::string("{\"bytes\":1,\"class\":\"a\",\"dscp\":1}\n") + bad, "w");
    ASSERT_FALSE(parsed) << bad;
    EXPECT_EQ(parsed.error().where, "w:2") << bad;
  }
  EXPECT_FALSE(parse_workload("\n", "w"));
}

TEST(Workload, ClassOptions) {
  EXPECT_EQ(*parse_class("pp:5:18"), (TrafficClass{"pp:5", 18}));
  for (const char* bad : {"exact", ":26", "exact:", "exact:64", "exact:2x"})
    EXPECT_FALSE(parse_class(bad)) << bad;
}

}  // namespace
}  // namespace weft::rc
