// How strongly each stream is coded now: the class's fixed code where it has one.
#pragma once

#include <algorithm>
#include <optional>

#include "agent/recovery/block_group.h"
#include "agent/recovery/policy.h"

namespace weft::recovery {

class CodingPlanner {
 public:
  // The policy outlives the planner.
  explicit CodingPlanner(const PolicyTable& policy) : policy_(&policy) {}

  void set_policy(const PolicyTable& policy) { policy_ = &policy; }
  const PolicyTable& policy() const { return *policy_; }

  // What the peer has counted; a new session starts from what is assumed of an unknown path.
  void on_loss(const wire::LossCounts& counts, Time now);
  void reset();
  double burst_packets() const { return burst_packets_; }
  const wire::LossCounts& measured_loss() const { return measured_; }

  // The plan for a stream's next group; nullopt: its packets go uncoded.
  std::optional<GroupPlan> plan(wire::StreamId stream) const;
  // How many repairs a block of `k` packets sends that was opened by `plan`.
  static unsigned rows_for(const GroupPlan& plan, unsigned k) { return std::min(plan.r, k); }
  // A group is closed when it has been open for this long.
  Time longest_span() const;

 private:
  const PolicyTable* policy_;
  wire::LossCounts measured_;
  double burst_packets_ = 1;
};

}  // namespace weft::recovery
