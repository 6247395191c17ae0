// Fills that were delivered and that the receiver has not acknowledged yet. A fill is reported when an acknowledgement
// covers it, and cancelled when a NAK shows that the receiver threw it away; when nobody will tell any more (the flow
// ends, its partner is unknown again), it is reported: better a range declared that holds its bytes than the reverse.
// Bounded: while full, nothing is filled.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>

#include "agent/recovery/arrivals.h"
#include "agent/recovery/fill_record.h"

namespace weft::recovery {

struct PendingFill {
  FillRecord record;
  roce::Psn message_first_psn;
};

class FillLedger {
 public:
  explicit FillLedger(std::size_t max_fills) : max_fills_(max_fills) {}

  bool full() const { return fills_ >= max_fills_; }
  bool empty() const { return fills_ == 0; }
  std::size_t size() const { return fills_; }

  void add(FlowHandle flow, const PendingFill& fill) {
    pending_[flow].push_back(fill);
    ++fills_;
  }

  // Takes out the fills before `until`, for each of which taken(fill) is called.
  template <class Taken>
  void take_before(FlowHandle flow, roce::Psn until, Taken&& taken) {
    take_if(
        flow, [&](const PendingFill& fill) { return roce::psn_before(fill.record.psn, until); }, taken);
  }
  template <class Taken>
  void take_all(FlowHandle flow, Taken&& taken) {
    take_if(
        flow, [](const PendingFill&) { return true; }, taken);
  }
  // Visits every flow with fills; `done(flow)` says whether to take all of its fills.
  template <class Done, class Taken>
  void take_where(Done&& done, Taken&& taken) {
    for (auto it = pending_.begin(); it != pending_.end();) {
      const FlowHandle flow = it->first;
      ++it;
      if (done(flow)) take_all(flow, taken);
    }
  }

 private:
  template <class Condition, class Taken>
  void take_if(FlowHandle flow, Condition&& condition, Taken&& taken) {
    const auto it = pending_.find(flow);
    if (it == pending_.end()) return;
    fills_ -= std::erase_if(it->second, [&](const PendingFill& fill) {
      if (!condition(fill)) return false;
      taken(fill);
      return true;
    });
    if (it->second.empty()) pending_.erase(it);
  }

  std::size_t max_fills_;
  std::size_t fills_ = 0;
  std::unordered_map<FlowHandle, std::deque<PendingFill>> pending_;
};

}  // namespace weft::recovery
