// How strongly each stream is coded now: the class's fixed code where it has one, else what its target residual loss
// asks for on the path as it is.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "agent/recovery/adaptation.h"
#include "agent/recovery/block_group.h"
#include "agent/recovery/loss_estimator.h"
#include "agent/recovery/policy.h"
#include "agent/recovery/stream_slots.h"

namespace weft::recovery {

class CodingPlanner {
 public:
  struct Path {
    Time endpoint_timeout{};
    std::size_t wan_mtu_bytes = 1500;
  };
  // The policy outlives the planner.
  CodingPlanner(const PolicyTable& policy, const Path& path);

  void set_policy(const PolicyTable& policy) { policy_ = &policy; }
  // From the next group on. Nothing is coded for a peer that cannot decode it.
  void set_peer(std::size_t wan_mtu_bytes, bool peer_decodes) {
    measured_path_.wan_mtu_bytes = path_.wan_mtu_bytes = wan_mtu_bytes;
    peer_decodes_ = peer_decodes;
  }
  const PolicyTable& policy() const { return *policy_; }

  // What the peer has counted, and the round trip as the session measures it.
  void on_feedback(const wire::LossCounts& counts, std::optional<Time> rtt);
  // A new session starts from what is assumed of an unknown path; what was measured last stays to be read.
  void reset();
  double burst_packets() const { return estimator_.estimate().burst; }
  const wire::LossCounts& measured_loss() const { return measured_; }

  // The plan for a stream's next group; nullopt: its packets go uncoded.
  std::optional<GroupPlan> plan(wire::StreamId stream, const StreamState& state, bool ipv6);
  // Of every stream whose strength is adaptive and that is coded now.
  struct StreamStrength {
    wire::StreamId stream;
    fec::Strength strength;
  };
  std::vector<StreamStrength> strengths() const;
  // How many repairs a block of `columns` packets sends that was opened by `plan`.
  unsigned rows_for(wire::StreamId stream, const GroupPlan& plan, unsigned columns) const;
  // A group is closed when it has been open for this long.
  Time longest_span() const;

 private:
  // From what the estimator says and measured_path_ holds.
  void follow_path();
  GroupPlan fixed_plan(const FixedCode& code, const StreamState& state) const;
  std::unique_ptr<StrengthController>& controller_of(wire::StreamId stream) {
    return controllers_[slot_of(stream)];
  }

  const PolicyTable* policy_;
  LossEstimator estimator_;
  PathState measured_path_;  // as estimated; begins with what the estimator assumes
  SteadyPath steady_path_;
  PathState path_;  // as strength goes by it
  bool peer_decodes_ = true;
  wire::LossCounts measured_;
  // By path, class and level, made when first used.
  std::array<std::unique_ptr<StrengthController>, kStreamSlots> controllers_;
};

}  // namespace weft::recovery
