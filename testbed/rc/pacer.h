// The host's rate limit: one for all queue pairs, at the rate of the WAN, counted in IP bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "agent/base/units.h"

namespace weft::rc {

class Pacer {
 public:
  // A caller that wakes late may send at once what it missed, but never more than `catch_up` worth: a burst
  // beyond that would be queueing of our own making.
  Pacer(std::uint64_t bits_per_second, Nanoseconds catch_up)
      : bits_per_second_(bits_per_second), catch_up_(catch_up) {}

  // The earliest time of the next packet.
  Nanoseconds ready_at() const { return ready_at_; }

  // A packet was sent at `now`, which is not before ready_at().
  void sent(Nanoseconds now, std::size_t ip_bytes) {
    // Bits x 10^9 of one packet fit 64 bits with room; the remainder is carried so that no rate drifts.
    const std::uint64_t numerator = ip_bytes * std::uint64_t{8'000'000'000} + remainder_;
    remainder_ = numerator % bits_per_second_;
    ready_at_ = std::max(ready_at_, now - catch_up_) +
                Nanoseconds(static_cast<std::int64_t>(numerator / bits_per_second_));
  }

 private:
  std::uint64_t bits_per_second_;
  Nanoseconds catch_up_;
  Nanoseconds ready_at_{0};
  std::uint64_t remainder_ = 0;
};

}  // namespace weft::rc
