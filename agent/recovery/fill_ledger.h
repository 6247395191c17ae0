// Fills that were delivered and that the receiver has not acknowledged yet.
//
//   filled ──▶ pending ──acknowledged, or nobody will tell any more──▶ reported
//                 │  ▲
//                 │  └── filled again (the sender went back, and the packet was lost again): still one fill
//                 └──the sender went back where a NAK asked it to, and the true packet is delivered──▶ cancelled
//
// A NAK alone cancels nothing: the BTH does not say whose it is, and a fill that is cancelled although its zeros stay
// in memory is a lie (P1), while a range declared that holds its bytes costs a little accuracy. For the same reason a
// fill is reported when nobody will tell any more: the flow ends, its queue pair is made anew, its partner is unknown or
// does not answer.
// Bounded: while full, nothing is filled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <unordered_map>

#include "agent/recovery/arrivals.h"
#include "agent/recovery/fill_record.h"
#include "agent/wire/messages.h"

namespace weft::recovery {

struct PendingFill {
  FillRecord record;  // `at`: when it was last filled
  roce::Psn message_first_psn;
  wire::StreamId stream;  // whose budget paid
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

  // The fill of this PSN; nullptr when none is pending. Valid until the next call.
  PendingFill* find(FlowHandle flow, roce::Psn psn) {
    const auto it = pending_.find(flow);
    if (it == pending_.end()) return nullptr;
    const auto fill = std::ranges::find(it->second, psn, [](const PendingFill& f) { return f.record.psn; });
    return fill == it->second.end() ? nullptr : &*fill;
  }

  template <class Taken>
  void take(FlowHandle flow, roce::Psn psn, Taken&& taken) {
    take_if(
        flow, [&](const PendingFill& fill) { return fill.record.psn == psn; }, taken);
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
  // `condition(flow, fill)`
  template <class Condition, class Taken>
  void take_where(Condition&& condition, Taken&& taken) {
    for (auto it = pending_.begin(); it != pending_.end();) {
      const FlowHandle flow = it->first;
      ++it;
      take_if(
          flow, [&](const PendingFill& fill) { return condition(flow, fill); }, taken);
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
