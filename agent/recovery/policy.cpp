#include "agent/recovery/policy.h"

#include <algorithm>
#include <cmath>

namespace weft::recovery {
namespace {

// Where FEC fails, an exact packet is not lost: the endpoint sends it again, a round trip later. Of messages of 4096
// packets that happens to one in 250; ten times less would cost every message a tenth more repairs (decision 0002).
constexpr double kExactResidual = 1e-6;

ClassPolicy exact_class(std::string name, double residual) {
  ClassPolicy policy{
      .name = std::move(name), .levels = {}, .after = {Fallback::kRelease}, .fixed = std::nullopt};
  policy.levels.fill(LevelPolicy{.target_residual = residual});
  return policy;
}

// A quarter of the budget is left to FEC's failures; the rest of it is headroom for bursts.
constexpr double kDpLowBudget = 1e-2;
constexpr double kDpLowMaxPerMessage = 5e-2;
constexpr double kPpBudget = 1e-4;
constexpr double kPpMaxPerMessage = 1e-2;
constexpr double kPpStrictResidual = kExactResidual;

ClassPolicy dp_low() {
  ClassPolicy policy{
      .name = "dp-low", .levels = {}, .after = {Fallback::kFill, Fallback::kRelease}, .fixed = std::nullopt};
  policy.levels.fill(LevelPolicy{.target_residual = kDpLowBudget / 4,
                                 .uncoded_below_loss = kDpLowBudget / 4,
                                 .fill_budget = kDpLowBudget,
                                 .max_fill_per_message = kDpLowMaxPerMessage});
  return policy;
}

// Earlier pipeline stages feed all later ones, so they are coded more strongly: the residual rises
// geometrically from level 0 (never filled) to a tenth of the budget at level 7.
ClassPolicy pp() {
  ClassPolicy policy{
      .name = "pp", .levels = {}, .after = {Fallback::kFill, Fallback::kRelease}, .fixed = std::nullopt};
  for (std::size_t level = 0; level < kLevels; ++level) {
    const double share = static_cast<double>(level) / (kLevels - 1);
    LevelPolicy& row = policy.levels[level];
    row.target_residual = kPpStrictResidual * std::pow(kPpBudget / 10 / kPpStrictResidual, share);
    row.fill_budget = level == 0 ? 0 : kPpBudget;
    row.max_fill_per_message = level == 0 ? 0 : kPpMaxPerMessage;
  }
  return policy;
}

// Acknowledgements are guarded by copies, not coded and never held for.
ClassPolicy ack() {
  ClassPolicy policy = exact_class("ack", 0);
  for (LevelPolicy& level : policy.levels)
    level.target_residual = std::nullopt;
  return policy;
}

}  // namespace

bool ClassPolicy::may_fill(std::uint8_t level) const {
  return levels[level % kLevels].fill_budget > 0 && std::ranges::find(after, Fallback::kFill) != after.end();
}

std::optional<ClassId> PolicyTable::find(std::string_view name) const {
  const auto it = std::ranges::find(classes, name, &ClassPolicy::name);
  if (it == classes.end()) return std::nullopt;
  return static_cast<ClassId>(it - classes.begin());
}

PolicyTable PolicyTable::held_to_exact() const {
  PolicyTable table = *this;
  table.classes.assign(kMaxClasses, classes[kClassExact]);
  return table;
}

PolicyTable PolicyTable::defaults() {
  PolicyTable table;
  table.classes = {exact_class("exact", kExactResidual), exact_class("dp-high", kExactResidual), dp_low(),
                   pp(), ack()};
  return table;
}

}  // namespace weft::recovery
