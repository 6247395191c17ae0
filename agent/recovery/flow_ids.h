// The peer's short names for its flows. An id stands for one epoch of one flow.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "agent/recovery/arrivals.h"
#include "agent/wire/messages.h"

namespace weft::recovery {

class FlowIds {
 public:
  struct Meaning {
    FlowHandle flow = kNoFlow;
    std::uint8_t wire_epoch = 0;
  };

  void learn(wire::FlowId id, Meaning meaning) {
    meanings_[id] = meaning;
    if (fresh_.size() < wire::kMaxConfirmedFlows) fresh_.push_back(id);
  }
  const Meaning* find(wire::FlowId id) const {
    const auto it = meanings_.find(id);
    return it == meanings_.end() ? nullptr : &it->second;
  }

  // What to confirm in the feedback about to be sent: announcements since the last one and the one before, so that a
  // lost feedback delays nothing.
  std::vector<wire::FlowId> take_confirmations() {
    std::vector<wire::FlowId> confirmed = before_;
    confirmed.insert(confirmed.end(), fresh_.begin(), fresh_.end());
    if (confirmed.size() > wire::kMaxConfirmedFlows)
      confirmed.erase(confirmed.begin(), confirmed.end() - wire::kMaxConfirmedFlows);
    before_ = std::move(fresh_);
    fresh_.clear();
    return confirmed;
  }

  void clear() {
    meanings_.clear();
    fresh_.clear();
    before_.clear();
  }

 private:
  std::unordered_map<wire::FlowId, Meaning> meanings_;  // at most 65536
  std::vector<wire::FlowId> fresh_;
  std::vector<wire::FlowId> before_;
};

}  // namespace weft::recovery
