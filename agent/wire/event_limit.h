// How often something may happen that strangers can cause: a token bucket of events.
#pragma once

#include <algorithm>
#include <cstdint>

#include "agent/base/units.h"

namespace weft::wire {

class EventLimit {
 public:
  // `burst` at once, then one every `interval`.
  EventLimit(std::uint32_t burst, Nanoseconds interval) : interval_(interval), room_(interval * burst) {}

  // Whether one may happen at `now`; then it counts as having happened.
  bool allow(Nanoseconds now) {
    // `spent_` is when the bucket would be full again if nothing more happened (GCRA, ITU-T I.371).
    const Nanoseconds start = std::max(spent_, now);
    if (start + interval_ - now > room_) return false;
    spent_ = start + interval_;
    return true;
  }

 private:
  Nanoseconds interval_;
  Nanoseconds room_;
  Nanoseconds spent_{0};
};

}  // namespace weft::wire
