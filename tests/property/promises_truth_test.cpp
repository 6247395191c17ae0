// P1 to P4 (and, watched in every run, the others) under faults drawn at random: whatever the WAN, the lans and the
// agents suffer, what a host gets is what was sent, or zeros that were allowed, proven, within budget and declared.
#include <gtest/gtest.h>

#include "tests/property/random_scenario.h"

namespace weft::test {
namespace {

constexpr std::uint64_t kWantedPackets = 900'000;
// What one seed did not hit, another run of it does: three times the usual number is enough for any.
constexpr std::uint64_t kMostRuns = 150;

std::vector<std::string> never_struck(const Hits& hits) {
  return hits.never({"PSN wrapped",
                     "agent continued",
                     "agent restarted",
                     "agent stopped",
                     "corrupted",
                     "duplicated",
                     "queue full",
                     "equal queue pair numbers",
                     "forged",
                     "lost before the agent",
                     "lost behind the agent",
                     "lost control",
                     "lost repair",
                     "lost retransmit",
                     "lost source",
                     "not ours",
                     "queue pair made anew",
                     "receiver not ready",
                     "reflected",
                     "reordered",
                     "replayed",
                     "retransmitted"},
                    {});
}

TEST(PromisesTruth, HoldUnderEveryFaultAtOnce) {
  const auto wanted_packets = static_cast<std::uint64_t>(kWantedPackets * run_share());
  Hits hits;
  for (std::uint64_t number = 0; number < kMostRuns; ++number) {
    if (hits.packets >= wanted_packets && never_struck(hits).empty()) break;
    const auto scenario = random_scenario(number);
    SCOPED_TRACE(scenario.name);
    run_scenario(scenario, hits);
    if (HasFailure()) break;
  }
  hits.print();
  for (const std::string& name : never_struck(hits))
    ADD_FAILURE() << name << ": never in this run";
}

}  // namespace
}  // namespace weft::test
