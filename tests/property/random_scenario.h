// What goes over the WAN and what goes wrong, drawn at random: every fault of the promises' list in a good share of the
// runs, each run small enough for many.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "tests/property/promise_run.h"

namespace weft::test {

extern const std::vector<std::uint8_t> kAllMarks;
extern const std::vector<rc::WorkOp> kAllOps;

template <class T>
T one_of(Rng& rng, std::initializer_list<T> choices) {
  return choices.begin()[rng.below(choices.size())];
}

// Follows from the test's seed and `number`.
Scenario random_scenario(std::uint64_t number);

// Messages of a few KiB to 1 MiB, about `packets` packets in all, in turn of each mark and each verb given.
std::vector<sim::MessageSpec> mixed_messages(std::uint64_t packets, std::uint32_t pmtu_bytes,
                                             const std::vector<std::uint8_t>& dscps,
                                             const std::vector<rc::WorkOp>& ops, Rng& rng);

// The same budgets for dp-low and for pp above level 0.
void set_budgets(recovery::PolicyTable& policy, double fill_budget, double max_fill_per_message);

}  // namespace weft::test
