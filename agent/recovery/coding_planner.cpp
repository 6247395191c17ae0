#include "agent/recovery/coding_planner.h"

#include <chrono>

namespace weft::recovery {

void CodingPlanner::on_loss(const wire::LossCounts& counts, Time) {
  measured_ = counts;
  if (counts.loss_runs > 0)
    burst_packets_ = static_cast<double>(counts.lost_packets) / static_cast<double>(counts.loss_runs);
}

void CodingPlanner::reset() {
  measured_ = {};
  burst_packets_ = 1;
}

std::optional<GroupPlan> CodingPlanner::plan(wire::StreamId stream) const {
  const ClassPolicy& row = policy_->classes[stream.class_id];
  if (!row.levels[stream.level].target_residual) return std::nullopt;
  const FixedCode code = row.fixed.value_or(FixedCode{.k = 64, .r = 4, .interleave = 8});
  return GroupPlan{.code = policy_->fec.code,
                   .k = std::clamp<unsigned>(code.k, 1, fec::kMaxColumns),
                   .r = std::clamp<unsigned>(code.r, 1, fec::kMaxRows),
                   .interleave = std::clamp<unsigned>(code.interleave, 1, kMaxInterleave)};
}

Time CodingPlanner::longest_span() const { return std::chrono::milliseconds(25); }

}  // namespace weft::recovery
