#include "agent/dataplane/classifier.h"

#include <cstring>
#include <set>

#include <gtest/gtest.h>

#include "tests/support/seed.h"
#include "tests/unit/dataplane/fake_map_store.h"

namespace weft::dataplane {
namespace {

using recovery::PolicyTable;
using recovery::Tag;

// The VAs a key stands for, as first and last.
std::pair<std::uint64_t, std::uint64_t> covered(const weft_message_key& key) {
  std::uint8_t wire[8];
  std::memcpy(wire, key.va, sizeof(wire));
  const std::uint64_t first = load_be64(wire);
  const unsigned free_bits = WEFT_MESSAGE_KEY_FIXED_BITS + 64 - key.prefix_bits;
  return {first, first + (std::uint64_t{1} << free_bits) - 1};
}

void expect_exact_cover(std::uint64_t va, std::uint64_t length_bytes) {
  std::uint64_t next = va;
  for (const weft_message_key& key : message_keys({{}, 1, va, length_bytes})) {
    const auto [first, last] = covered(key);
    ASSERT_EQ(first, next);
    ASSERT_EQ(first & (last - first), 0U) << "not aligned";
    next = last + 1;
  }
  ASSERT_EQ(next, va + length_bytes);
}

TEST(MessageKeys, CoverTheRangeExactly) {
  EXPECT_EQ(message_keys({{}, 1, 0x10000, 0x10000}).size(), 1U);
  EXPECT_TRUE(message_keys({{}, 1, 0x10000, 0}).empty());
  expect_exact_cover(0, 1);
  expect_exact_cover(0, UINT64_MAX);
  expect_exact_cover(1, UINT64_MAX - 1);
  Rng random = test::rng(0x3a);
  for (int round = 0; round < 10'000; ++round) {
    const std::uint64_t va = random.next() >> random.below(64);
    const std::uint64_t length_bytes = (random.next() >> random.below(64)) % (UINT64_MAX - va) + 1;
    expect_exact_cover(va, length_bytes);
  }
}

TEST(Strictness, FollowsBudgetThenResidual) {
  const PolicyTable policy = PolicyTable::defaults();
  const auto rank = [&](std::string_view name, std::uint8_t level = 0) {
    return strictness(policy, {.class_id = *policy.find(name), .level = level});
  };
  EXPECT_EQ(rank("exact"), 0);
  EXPECT_EQ(rank("dp-high"), rank("exact"));
  EXPECT_LT(rank("dp-high"), rank("pp", 1));
  EXPECT_LT(rank("pp", 1), rank("pp", 7));
  EXPECT_LT(rank("pp", 7), rank("dp-low"));
  EXPECT_EQ(rank("pp", 0), rank("exact"));
}

TEST(AbiFlowKey, RoundTrips) {
  roce::FlowKey flow;
  flow.src = *roce::IpAddress::parse("10.1.2.3");
  flow.dst = *roce::IpAddress::parse("10.2.0.1");
  flow.dest_qpn = 0xabcdef;
  flow.vids = {100, 5};
  flow.vlan_count = 2;
  flow.response = true;
  EXPECT_EQ(flow_key_from_abi(abi_flow_key(flow)), flow);
  flow.src = *roce::IpAddress::parse("fd00:1::3");
  flow.dst = *roce::IpAddress::parse("fd00:2::3");
  EXPECT_EQ(flow_key_from_abi(abi_flow_key(flow)), flow);
}

TEST(CauseNames, AreDistinct) {
  std::set<std::string_view> names;
  for (int cause = 0; cause < WEFT_CAUSE_COUNT; ++cause) {
    names.insert(cause_name(static_cast<weft_cause>(cause)));
  }
  EXPECT_EQ(names.size(), std::size_t{WEFT_CAUSE_COUNT});
  EXPECT_FALSE(names.contains(""));
  EXPECT_EQ(cause_name(WEFT_PASS_METADATA_REFUSED), "pass_metadata_refused");
  EXPECT_EQ(cause_name(WEFT_PASS_SHED), "pass_shed");
}

TEST(Classifier, ReloadAddsBeforeItRemovesAndKeepsWhatStays) {
  test::FakeMapStore store;
  Classifier classifier(store, 8192);
  ClassifierTables tables;
  tables.peers = {{*roce::IpPrefix::parse("10.2.0.0/16"), 0}, {*roce::IpPrefix::parse("fd00:2::/48"), 0}};
  tables.local_addresses = {*roce::IpAddress::parse("10.1.0.1")};
  ASSERT_TRUE(classifier.apply(tables, PolicyTable::defaults()));
  EXPECT_EQ(store.tables[MapName::kPeers].size(), 2U);
  EXPECT_EQ(store.tables[MapName::kLocalAddresses].size(), 1U);
  tables.peers[0].prefix = *roce::IpPrefix::parse("10.3.0.0/16");
  tables.local_addresses.reset();
  ASSERT_TRUE(classifier.apply(tables, PolicyTable::defaults()));
  EXPECT_EQ(store.tables[MapName::kPeers].size(), 2U);
  EXPECT_TRUE(store.tables[MapName::kLocalAddresses].empty());
}

TEST(Classifier, CountersAreSummedOverCpus) {
  test::FakeMapStore store;
  Classifier classifier(store, 8192);
  const weft_count per_cpu[] = {{3, 300}, {4, 500}};
  const __u32 index = weft_counter_index(WEFT_PORT_WAN, WEFT_PASS_SHED, 2);
  ASSERT_TRUE(store.update(MapName::kCounters, as_bytes(index), as_bytes(per_cpu)));
  const auto counters = classifier.counters();
  ASSERT_TRUE(counters);
  ASSERT_EQ(counters->size(), 1U);
  EXPECT_EQ(counters->front().port, recovery::Port::kWan);
  EXPECT_EQ(counters->front().cause, WEFT_PASS_SHED);
  EXPECT_EQ(counters->front().class_id, 2);
  EXPECT_EQ(counters->front().packets, 7U);
  EXPECT_EQ(counters->front().bytes, 800U);
}

TEST(Classifier, AShedFlowIsNotLearnedBack) {
  test::FakeMapStore store;
  Classifier classifier(store, 8192);
  roce::FlowKey flow;
  flow.src = *roce::IpAddress::parse("10.1.2.3");
  flow.dst = *roce::IpAddress::parse("10.2.0.1");
  const recovery::Time early(1000);
  ASSERT_TRUE(classifier.learn_flow(flow, Tag{.class_id = 1}, early));
  EXPECT_EQ(classifier.newest_flow().value(), flow);
  ASSERT_TRUE(classifier.shed_flow(flow));
  ASSERT_TRUE(classifier.learn_flow(flow, Tag{.class_id = 1}, recovery::Time(2000)));
  EXPECT_EQ(classifier.newest_flow().value(), std::nullopt);
  ASSERT_TRUE(classifier.unlearn_flow(flow));
  ASSERT_TRUE(classifier.learn_flow(flow, Tag{.class_id = 1}, recovery::Time(2000)));
  EXPECT_EQ(classifier.newest_flow().value(), std::nullopt) << "nor by way of being unlearned";
  EXPECT_EQ(classifier.forget_idle(early).value(), 0U);
  EXPECT_EQ(classifier.forget_idle(recovery::Time(1001)).value(), 2U);  // the flow and its address pair
}

}  // namespace
}  // namespace weft::dataplane
