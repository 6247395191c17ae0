// Two agents that are not configured alike, in virtual time: what still works, works.
#include <gtest/gtest.h>

#include "agent/recovery/coding_planner.h"
#include "agent/roce/udp_datagram.h"
#include "tests/property/sites_config.h"
#include "tests/support/seed.h"

namespace weft::test {
namespace {

using recovery::Event;
using sim::Side;

constexpr auto kPatience = std::chrono::seconds(600);

// A policy that fills whatever the WAN loses.
recovery::PolicyTable filling_policy() {
  auto policy = recovery::PolicyTable::defaults();
  for (recovery::LevelPolicy& level : policy.classes[policy.find("dp-low").value()].levels)
    level = {.target_residual = 0.02, .fill_budget = 0.1, .max_fill_per_message = 0.5};
  return policy;
}

struct Outcome {
  std::uint64_t recovered = 0;
  std::uint64_t filled = 0;
  std::size_t zero_runs = 0;
  std::uint64_t corrupt_bytes = 0;
  std::vector<recovery::PeerChange> changes;  // of side B
  recovery::Engine::PeerStatus status;        // of side B
  std::vector<recovery::FlowStatus> flows;    // of side B
};

Outcome transfer(sim::TwoSites& sites) {
  std::vector<sim::MessageSpec> messages(16, {.bytes = 1U << 20, .dscp = kDscpDpLow});
  sim::Transfer transfer(sites, {.messages = messages, .seed = seed()});
  EXPECT_TRUE(transfer.run(kPatience));
  recovery::Engine& b = *sites.engine(Side::kB);
  Outcome outcome{.changes = b.take_peer_changes(), .status = b.status().front(), .flows = {}};
  outcome.recovered = outcome.status.counters->total(Event::kRecovered);
  outcome.filled = outcome.status.counters->total(Event::kFilled);
  for (const auto& message : transfer.outcomes()) {
    outcome.zero_runs += message.zero_runs.size();
    outcome.corrupt_bytes += message.corrupt_bytes;
  }
  recovery::NewestFlows newest(100);
  b.list_flows(newest);
  outcome.flows = newest.take();
  return outcome;
}

TEST(PeerTerms, OtherClassesAreRepairedButNotFilled) {
  const Wan wan{.loss = 2e-2};
  const auto policy = filling_policy();
  auto other = policy;
  other.classes[policy.find("dp-low").value()].name = "gradients";
  for (const bool same : {true, false}) {
    auto config = sites_config(wan, &policy, seed());
    if (!same) config.agents[sim::index(Side::kB)] = agent_config(Side::kB, other, seed());
    sim::TwoSites sites(config);
    const Outcome outcome = transfer(sites);
    EXPECT_GT(outcome.recovered, 0U);
    EXPECT_EQ(outcome.corrupt_bytes, 0U);
    ASSERT_TRUE(outcome.status.terms);
    EXPECT_EQ(outcome.status.terms->same_classes, same);
    ASSERT_FALSE(outcome.changes.empty());
    EXPECT_EQ(outcome.changes.front().event, wire::PeerEvent::kUp);
    EXPECT_EQ(outcome.changes.front().terms, *outcome.status.terms);
    for (const recovery::FlowStatus& flow : outcome.flows)
      EXPECT_TRUE(flow.sending || flow.class_known == same);
    if (same) {
      EXPECT_GT(outcome.filled, 0U) << "or the test shows nothing";
    } else {
      EXPECT_EQ(outcome.filled, 0U);
      EXPECT_EQ(outcome.zero_runs, 0U);
    }
  }
}

TEST(PeerTerms, TheSmallerWanMtuBindsBoth) {
  constexpr std::uint16_t kSmall = 1300;
  const auto policy = fixed_policy(128, 8, 1);
  for (const Side small : sim::kSides) {
    auto config = sites_config({.loss = 1e-2}, &policy, seed());
    config.agents[sim::index(small)]->wan_mtu_bytes = kSmall;
    config.agents[sim::index(sim::other(small))]->wan_mtu_bytes = 9000;
    sim::TwoSites sites(config);
    std::size_t largest_bytes = 0;
    sites.tap = [&](sim::Place place, Side, sim::TwoSites::Tapped& tapped) {
      if (place != sim::Place::kIntoWan) return true;
      const auto datagram = roce::UdpDatagram::parse(tapped.frame);
      if (datagram && datagram->destination_port == wire::kDefaultUdpPort)
        largest_bytes = std::max(largest_bytes, tapped.frame.size() - roce::kEthernetBytes);
      return true;
    };
    const Outcome outcome = transfer(sites);
    EXPECT_GT(outcome.recovered, 0U);
    EXPECT_LE(largest_bytes, kSmall);
    EXPECT_GT(largest_bytes, 1024U);
    EXPECT_EQ(outcome.status.terms->wan_mtu_bytes, kSmall);
  }
}

TEST(PeerTerms, FollowFromTheHello) {
  using recovery::CodeKind;
  wire::Hello hello;
  hello.capabilities = wire::kCapabilityReedSolomon;
  hello.mtu_bytes = 1400;
  EXPECT_EQ(recovery::terms_with(hello, true, 1500, CodeKind::kReedSolomon),
            (recovery::PeerTerms{.own_wan_mtu_bytes = 1500,
                                 .peer_wan_mtu_bytes = 1400,
                                 .wan_mtu_bytes = 1400,
                                 .same_classes = true,
                                 .peer_decodes = true}));
  EXPECT_FALSE(recovery::terms_with(hello, true, 1500, CodeKind::kXor).peer_decodes);
  hello.mtu_bytes = 9000;
  EXPECT_EQ(recovery::terms_with(hello, false, 1500, CodeKind::kXor).wan_mtu_bytes, 1500);
  hello.mtu_bytes = 3;
  EXPECT_EQ(recovery::terms_with(hello, false, 1500, CodeKind::kXor).wan_mtu_bytes, wire::kLeastWanMtuBytes);
}

TEST(PeerTerms, NothingIsCodedForAPeerThatCannotDecode) {
  const auto policy = fixed_policy(32, 4, 1);
  recovery::CodingPlanner planner(policy, {});
  const recovery::StreamState state{};
  EXPECT_TRUE(planner.plan({}, state, false));
  planner.set_peer(1500, false);
  EXPECT_FALSE(planner.plan({}, state, false));
}

}  // namespace
}  // namespace weft::test
