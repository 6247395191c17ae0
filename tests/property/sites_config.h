// Two sites with an agent each, as the engine's property tests want them.
#pragma once

#include <cstdint>
#include <string_view>

#include "testbed/sim/transfer.h"
#include "testbed/sim/two_sites.h"

namespace weft::test {

// DSCP marks of these tests.
inline constexpr std::uint8_t kDscpNone = 0;  // not ours
inline constexpr std::uint8_t kDscpExact = 26;
inline constexpr std::uint8_t kDscpDpHigh = 10;
inline constexpr std::uint8_t kDscpDpLow = 12;
inline constexpr std::uint8_t kDscpPp = 32;  // and its level

struct Wan {
  double loss = 0;
  double burst = 1;
  recovery::Time rtt = std::chrono::milliseconds(30);
  std::uint64_t rate_bits = 200'000'000;
};

netem::WanProfile wan_profile(const Wan& wan, std::uint64_t seed);

bool is_of_a_site(const roce::IpAddress& address);

// The agent of one side: its peer is the other. A fresh boot id follows from `boot`.
recovery::EngineConfig agent_config(sim::Side side, const recovery::PolicyTable& policy, std::uint64_t boot);

// Both sides with agents of this policy and all marks in use; nullptr: bridges only.
sim::SitesConfig sites_config(const Wan& wan, const recovery::PolicyTable* policy, std::uint64_t seed);

// The shipped policy with the same fixed code for every coded class.
recovery::PolicyTable fixed_policy(std::uint16_t k, std::uint16_t r, std::uint16_t interleave);

// Prints counters that are not zero, by class.
void print_counters(std::string_view title, const recovery::Engine& engine);

}  // namespace weft::test
