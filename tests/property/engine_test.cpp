// The whole engine in virtual time: endpoints, two agents and a lossy WAN.
#include <gtest/gtest.h>

#include "tests/property/sites_config.h"
#include "tests/support/seed.h"

namespace weft::test {
namespace {

using sim::Side;

std::vector<sim::MessageSpec> messages(std::size_t count, std::uint8_t dscp) {
  std::vector<sim::MessageSpec> all;
  for (std::size_t i = 0; i < count; ++i)
    all.push_back({.bytes = i % 2 == 0 ? 1U << 20 : 4U << 20, .dscp = dscp});
  return all;
}

double mean_ms(const sim::Transfer& transfer) {
  double sum = 0;
  for (const auto& outcome : transfer.outcomes())
    sum += std::chrono::duration<double, std::milli>(outcome.completion_time).count();
  return sum / static_cast<double>(transfer.outcomes().size());
}

TEST(Engine, ExactTrafficArrivesExactAndFasterThanGoBackN) {
  const Wan wan{.loss = 1e-2};
  const auto policy = fixed_policy(32, 8, 1);
  double mean[2] = {};
  for (const bool agents : {false, true}) {
    sim::TwoSites sites(sites_config(wan, agents ? &policy : nullptr, seed()));
    sim::Transfer transfer(sites, {.messages = messages(20, kDscpExact), .seed = seed()});
    ASSERT_TRUE(transfer.run(std::chrono::seconds(600)));
    std::uint64_t resent = 0;
    for (const auto& outcome : transfer.outcomes()) {
      EXPECT_EQ(outcome.corrupt_bytes, 0U);
      EXPECT_TRUE(outcome.zero_runs.empty());
      resent += outcome.retransmitted_packets;
    }
    mean[agents ? 1 : 0] = mean_ms(transfer);
    std::printf("agents %d: mean %.1f ms, resent %llu\n", agents, mean_ms(transfer),
                static_cast<unsigned long long>(resent));
    if (agents) {
      print_counters("a", *sites.engine(Side::kA));
      print_counters("b", *sites.engine(Side::kB));
    }
  }
  EXPECT_LT(mean[1] * 2, mean[0]);
}

// The frames of every other queue pair carry a VLAN tag across the WAN.
TEST(Engine, VlanStacksSideBySideAreRepaired) {
  const auto policy = fixed_policy(32, 4, 1);
  sim::TwoSites sites(sites_config({.loss = 5e-3}, &policy, seed()));
  sim::Transfer transfer(
      sites, {.messages = messages(12, kDscpExact), .slots = 2, .window_packets = 900, .seed = seed()});
  constexpr std::size_t kMacBytes = 12;
  sites.tap = [&](sim::Place place, Side, sim::TwoSites::Tapped& tapped) {
    Bytes& frame = tapped.frame;
    const auto view = roce::PacketView::parse(frame);
    if (!view) return true;
    if (place == sim::Place::kFromHost && view->dest_qpn() % 2 == 1) {
      const Bytes tag{0x81, 0x00, 0x00, 0x07};
      frame.insert(frame.begin() + kMacBytes, tag.begin(), tag.end());
    } else if (place == sim::Place::kToHost && view->flow_key().vlan_count == 1) {
      frame.erase(frame.begin() + kMacBytes, frame.begin() + kMacBytes + roce::kVlanTagBytes);
    }
    return true;
  };
  ASSERT_TRUE(transfer.run(std::chrono::seconds(600)));
  for (const auto& outcome : transfer.outcomes())
    EXPECT_EQ(outcome.corrupt_bytes, 0U);
  const recovery::Counters& a = *sites.engine(Side::kA)->status().front().counters;
  const recovery::Counters& b = *sites.engine(Side::kB)->status().front().counters;
  EXPECT_EQ(a.total(recovery::Event::kGroupClosedList), 0U);
  EXPECT_LT(a.total(recovery::Event::kRepairSent) * 6, a.total(recovery::Event::kSourceSent));
  EXPECT_GT(b.total(recovery::Event::kRecovered) * 10, b.total(recovery::Event::kLostPackets) * 9);
}

// An agent that slept forgets the order of flows, not their names: its peer heard nothing of it and will not say them
// again.
TEST(Engine, ProtectionGoesOnAfterEitherAgentSlept) {
  const Wan wan{.loss = 1e-2};
  const auto policy = fixed_policy(32, 8, 1);
  for (const Side sleeper : sim::kSides) {
    sim::TwoSites sites(sites_config(wan, &policy, seed()));
    sim::Transfer transfer(sites, {.messages = messages(40, kDscpExact), .seed = seed()});
    bool slept = false;
    bool woken = false;
    sites.tap = [&](sim::Place, Side, sim::TwoSites::Tapped&) {
      using std::chrono::milliseconds;
      if (!slept && sites.now() > milliseconds(1500)) {
        sites.stop_agent(sleeper);
        slept = true;
      } else if (slept && !woken && sites.now() > milliseconds(1580)) {
        sites.continue_agent(sleeper);
        woken = true;
      }
      return true;
    };
    ASSERT_TRUE(transfer.run(std::chrono::seconds(600)));
    ASSERT_TRUE(woken);
    std::uint64_t resent_in_second_half = 0;
    for (std::size_t i = 20; i < 40; ++i)
      resent_in_second_half += transfer.outcomes()[i].retransmitted_packets;
    // Some 50000 packets at 1 %: without protection each loss resends a window.
    EXPECT_LT(resent_in_second_half, 5000U);
  }
}

}  // namespace
}  // namespace weft::test
