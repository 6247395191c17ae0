#include "tests/property/random_scenario.h"

#include <algorithm>

#include <fmt/format.h>

#include "tests/support/seed.h"

namespace weft::test {
namespace {

using recovery::Time;
using std::chrono::microseconds;
using std::chrono::milliseconds;

// Long enough for every state a queue pair can be in, short enough for fifty runs.
constexpr std::uint64_t kFewestPackets = 4'000;
constexpr std::uint64_t kMostPackets = 16'000;

void choose_wan(Scenario& scenario, Rng& rng) {
  const auto sometimes = [&](double value) { return rng.chance(0.5) ? value : 0.0; };
  scenario.wan.loss = one_of(rng, {0.0, 1e-3, 1e-2, 1e-2, 3e-2, 5e-2});
  scenario.wan.burst = one_of(rng, {1.0, 1.0, 4.0, 16.0});
  scenario.wan.rtt = one_of<Time>(rng, {milliseconds(2), milliseconds(10), milliseconds(30)});
  scenario.wan.rate_bits = one_of<std::uint64_t>(rng, {50'000'000, 200'000'000, 1'000'000'000});
  scenario.reorder = sometimes(5e-3);
  scenario.reorder_delay = one_of<Time>(rng, {microseconds(200), milliseconds(1), milliseconds(5)});
  scenario.duplicate = sometimes(5e-3);
  scenario.corrupt = sometimes(2e-3);
  scenario.ecn_threshold_bytes = rng.chance(0.3) ? 60'000 : 0;
  scenario.drop_from_host = rng.chance(0.25) ? 1e-3 : 0;
  scenario.drop_to_host = rng.chance(0.25) ? 1e-3 : 0;
}

void choose_policy(Scenario& scenario, Rng& rng) {
  if (rng.chance(0.4)) {
    const bool strong = rng.chance(0.5);
    scenario.policy = fixed_policy(strong ? 16 : 32, strong ? 6 : 2, one_of<std::uint16_t>(rng, {1, 4, 8}));
  }
  switch (rng.below(3)) {
    case 0:
      break;  // as shipped
    case 1:
      set_budgets(scenario.policy, 2e-2, 5e-2);
      break;
    default:
      set_budgets(scenario.policy, 0.3, 0.3);
  }
}

void choose_agent_fates(Scenario& scenario, Rng& rng) {
  for (int i = 0; i < 3; ++i) {
    const auto at = milliseconds(rng.between(50, 1500));
    const auto side = one_of(rng, {sim::Side::kA, sim::Side::kB});
    if (rng.chance(0.6)) {
      scenario.agent_events.push_back({at, side, AgentFate::kRestart});
    } else {
      scenario.agent_events.push_back({at, side, AgentFate::kStop});
      scenario.agent_events.push_back({at + milliseconds(rng.between(1, 400)), side, AgentFate::kContinue});
    }
  }
}

void choose_endpoints(Scenario& scenario, Rng& rng) {
  sim::TransferConfig& transfer = scenario.transfer;
  transfer.seed = rng.next();
  transfer.slots = one_of(rng, {1U, 2U, 4U, 16U});
  transfer.hosts = rng.chance(0.25) ? 2 : 1;
  transfer.pmtu_bytes = one_of(rng, {256U, 512U, 1024U, 2048U, 4096U});
  // No network is too bad for this run to end.
  transfer.retry_count = 1000;
  // As the labs do: what all windows hold fits the path and half of its queue. Now and then four times that.
  const double bdp_bytes = static_cast<double>(scenario.wan.rate_bits) / 8 *
                           std::chrono::duration<double>(scenario.wan.rtt).count();
  const double share = rng.chance(0.15) ? 4 : 1;
  transfer.window_packets = std::clamp(
      static_cast<std::uint32_t>(share * (2 * bdp_bytes + 50'000) / transfer.slots / transfer.pmtu_bytes), 8U,
      2048U);
  transfer.ipv6 = rng.chance(0.3);
  transfer.vlans.count = static_cast<std::uint8_t>(rng.below(3));
  for (std::size_t i = 0; i < transfer.vlans.count; ++i)
    transfer.vlans.tags[i].tci = static_cast<std::uint16_t>(100 + i);
  transfer.psn_zero = rng.chance(0.3);
  transfer.same_port_back = rng.chance(0.5);
  // The book of what was sent has one page for a PSN of a flow.
  if (!transfer.psn_zero && rng.chance(0.2)) {
    transfer.messages_per_qp = 2;
  } else if (rng.chance(0.3)) {
    transfer.first_psn_from = roce::kPsnCount - 200;
    transfer.first_psn_span = 200;
  }
  // Where queue pairs share PSNs, only the ports tell whose an answer is (decision 0079).
  const bool shared_psns = transfer.psn_zero || transfer.first_psn_span < roce::kPsnCount;
  transfer.same_port_back |= shared_psns;
  transfer.late_receives = rng.chance(0.4) ? 0.2 : 0;
  // Where a coded packet of this PMTU does not fit the WAN it goes uncoded.
  if (transfer.pmtu_bytes > 1024 && rng.chance(0.8)) {
    scenario.adjust_agent = [](recovery::EngineConfig& agent) { agent.wan_mtu_bytes = 9000; };
  }
  transfer.messages =
      mixed_messages(rng.between(kFewestPackets, kMostPackets), transfer.pmtu_bytes, kAllMarks, kAllOps, rng);
}

// Little but what may be filled, and much lost of it.
void choose_fillable(Scenario& scenario, Rng& rng) {
  scenario.wan.loss = one_of(rng, {1e-2, 3e-2, 5e-2});
  set_budgets(scenario.policy, 0.3, one_of(rng, {0.02, 0.3}));
  // What the host did not get it asks for again, and with it what was filled behind it.
  scenario.drop_to_host = one_of(rng, {0.0, 2e-3});
  scenario.policy.min_fill_message_bytes = 16 << 10;
  scenario.transfer.messages = mixed_messages(
      rng.between(kFewestPackets, kMostPackets), scenario.transfer.pmtu_bytes,
      {kDscpDpLow, kDscpPp + 7, kDscpPp + 0}, {rc::WorkOp::kWriteWithImm, rc::WorkOp::kWrite}, rng);
}

}  // namespace

const std::vector<std::uint8_t> kAllMarks{kDscpExact,  kDscpDpHigh, kDscpDpLow, kDscpNone,
                                          kDscpPp + 0, kDscpPp + 3, kDscpPp + 7};
// Fills are of WRITEs only.
const std::vector<rc::WorkOp> kAllOps{rc::WorkOp::kWriteWithImm, rc::WorkOp::kWrite, rc::WorkOp::kSend,
                                      rc::WorkOp::kWriteWithImm, rc::WorkOp::kRead,  rc::WorkOp::kWrite,
                                      rc::WorkOp::kSendWithImm};

Scenario random_scenario(std::uint64_t number) {
  Rng rng = test::rng(1000 + number);
  Scenario scenario;
  scenario.name = fmt::format("random run {}", number);
  scenario.seed = rng.next();
  choose_wan(scenario, rng);
  choose_policy(scenario, rng);
  if (rng.chance(0.3)) scenario.attack_every = milliseconds(20);
  if (rng.chance(0.3)) choose_agent_fates(scenario, rng);
  choose_endpoints(scenario, rng);
  if (rng.chance(0.3)) choose_fillable(scenario, rng);
  return scenario;
}

std::vector<sim::MessageSpec> mixed_messages(std::uint64_t packets, std::uint32_t pmtu_bytes,
                                             const std::vector<std::uint8_t>& dscps,
                                             const std::vector<rc::WorkOp>& ops, Rng& rng) {
  constexpr std::size_t kMostMessages = 400;
  const std::uint32_t largest_bytes = std::min(1U << 20, 600 * pmtu_bytes);
  std::vector<sim::MessageSpec> all;
  for (std::uint64_t planned = 0; planned < packets && all.size() < kMostMessages;) {
    // Powers of two and what lies between, with a last packet of any length.
    const auto drawn = static_cast<std::uint32_t>(rng.between(4 << 10, 8 << 10)) << rng.below(8);
    const std::uint32_t bytes = std::min(drawn, largest_bytes) - static_cast<std::uint32_t>(rng.below(100));
    const std::size_t i = all.size();
    all.push_back(
        {.bytes = bytes, .dscp = dscps[i % dscps.size()], .op = ops[i / dscps.size() % ops.size()]});
    planned += roce::packets_for(bytes, pmtu_bytes);
  }
  return all;
}

void set_budgets(recovery::PolicyTable& policy, double fill_budget, double max_fill_per_message) {
  for (recovery::ClassPolicy& row : policy.classes) {
    for (std::uint8_t level = 0; level < recovery::kLevels; ++level) {
      if (!row.may_fill(level)) continue;
      row.levels[level].fill_budget = fill_budget;
      row.levels[level].max_fill_per_message = max_fill_per_message;
    }
  }
}

}  // namespace weft::test
