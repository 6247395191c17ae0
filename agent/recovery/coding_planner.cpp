#include "agent/recovery/coding_planner.h"

#include <algorithm>
#include <chrono>

namespace weft::recovery {
namespace {

// A group may fill for this part of the time its packets may be held; then its repairs need some of it too.
constexpr double kFillPartOfHold = 0.6;
// Where there is no time to hold at all, repairs still help whoever takes packets out of order.
constexpr Time kShortestSpan = std::chrono::milliseconds(1);

}  // namespace

CodingPlanner::CodingPlanner(const PolicyTable& policy, const Path& path) : policy_(&policy) {
  measured_path_.endpoint_timeout = path.endpoint_timeout;
  measured_path_.wan_mtu_bytes = path.wan_mtu_bytes;
  follow_path();
}

void CodingPlanner::follow_path() {
  measured_path_.loss = estimator_.estimate();
  measured_path_.measured_loss = measured_path_.loss.loss;
  measured_path_.clean = estimator_.clean();
  path_ = steady_path_.follow(measured_path_);
}

void CodingPlanner::on_feedback(const wire::LossCounts& counts, std::optional<Time> rtt) {
  measured_ = counts;
  estimator_.on_counts(counts);
  if (rtt) measured_path_.rtt = rtt;
  follow_path();
}

void CodingPlanner::reset() {
  estimator_.reset();
  steady_path_ = {};
  follow_path();
  for (auto& controller : controllers_)
    controller.reset();
}

GroupPlan CodingPlanner::fixed_plan(const FixedCode& code, const StreamState& state) const {
  GroupPlan plan{.code = policy_->fec.code,
                 .k = std::clamp<unsigned>(code.k, 1, fec::kMaxColumns),
                 .r = std::clamp<unsigned>(code.r, 1, fec::kMaxRows),
                 .interleave = std::clamp<unsigned>(code.interleave, 1, kMaxInterleave)};
  plan.repair_bytes =
      plan.interleave * fec::repair_bytes_of_block(packet_sizes(path_, state.packet_bytes), plan.k, plan.r);
  return plan;
}

std::optional<GroupPlan> CodingPlanner::plan(wire::StreamId stream, const StreamState& state, bool ipv6) {
  const ClassPolicy& row = policy_->classes[stream.class_id];
  const LevelPolicy& level = row.levels[stream.level];
  if (!level.target_residual || !peer_decodes_) return std::nullopt;
  path_.ipv6 = ipv6;
  if (row.fixed) return fixed_plan(*row.fixed, state);
  auto& controller = controller_of(stream);
  if (controller == nullptr) controller = std::make_unique<StrengthController>();
  const fec::Strength* strength = controller->choose(level, policy_->fec, path_, state);
  if (strength == nullptr) return std::nullopt;
  return GroupPlan{.code = policy_->fec.code,
                   .k = strength->columns,
                   .r = strength->rows,
                   .interleave = strength->interleave,
                   .repair_bytes = strength->interleave *
                                   fec::repair_bytes_of_block(packet_sizes(path_, state.packet_bytes),
                                                              strength->columns, strength->rows)};
}

std::vector<CodingPlanner::StreamStrength> CodingPlanner::strengths() const {
  std::vector<StreamStrength> all;
  for (std::size_t i = 0; i < controllers_.size(); ++i) {
    if (controllers_[i] == nullptr) continue;
    if (const fec::Strength* strength = controllers_[i]->chosen()) all.push_back({stream_at(i), *strength});
  }
  return all;
}

unsigned CodingPlanner::rows_for(wire::StreamId stream, const GroupPlan& plan, unsigned columns) const {
  const unsigned most = std::min(plan.r, columns);
  const auto& controller = controllers_[slot_of(stream)];
  if (controller == nullptr || policy_->classes[stream.class_id].fixed) return most;
  return std::min(plan.r, controller->rows_for(columns));
}

Time CodingPlanner::longest_span() const {
  const auto hold = std::chrono::duration<double>(coding_hold(path_));
  return std::max(std::chrono::duration_cast<Time>(hold * kFillPartOfHold), kShortestSpan);
}

}  // namespace weft::recovery
