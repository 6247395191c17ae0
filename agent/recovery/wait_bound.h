// How long a gap is worth waiting for, learned from what is seen rather than configured.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "agent/recovery/engine_io.h"

namespace weft::recovery {

// The largest of recent values: follows up at once, and down as time passes, not as values come: a burst of small
// ones (the repairs of a short tail) must not make a bound forget what a full block needs.
class DecayingMaximum {
 public:
  void observe(Time value, Time now) {
    if (value >= value_) {
      value_ = value;
    } else {
      const double share = std::min(1.0, std::chrono::duration<double>(now - observed_at_) / kMemory);
      value_ -= std::chrono::duration_cast<Time>((value_ - value) * share);
    }
    observed_at_ = now;
    ++observations_;
  }
  Time value() const { return value_; }
  std::uint32_t observations() const { return observations_; }

 private:
  // A training step lasts seconds: what one message needed the next of its kind needs again.
  static constexpr std::chrono::duration<double> kMemory{4.0};
  Time value_{};
  Time observed_at_{};
  std::uint32_t observations_ = 0;
};

// How late a packet may be without being lost, on the path from this peer.
class ReorderAllowance {
 public:
  // A packet closed its gap by itself after so long. A retransmission looks the same, but takes a round trip.
  void observe_late(Time lateness, Time rtt, Time now) {
    if (rtt == Time::zero() ? lateness < kMost : lateness < rtt / 2) lateness_.observe(lateness, now);
  }
  Time value() const { return std::clamp(lateness_.value() * 2, kLeast, kMost); }

 private:
  // Before anything is known: bonded links and multi-queue routers reorder within this.
  static constexpr Time kLeast = std::chrono::milliseconds(1);
  static constexpr Time kMost = std::chrono::milliseconds(20);
  DecayingMaximum lateness_;
};

// How long after a packet of a stream the lists and repairs that speak of it arrive.
class BlockSpan {
 public:
  // Age of the oldest packet of a block when one of its lists or repairs came.
  void observe(Time age, Time now) { span_.observe(age, now); }
  // Until enough was seen, the bound is what the promises allow.
  Time wait(Time reorder_allowance, Time most) const {
    if (span_.observations() < kEnough) return most;
    return std::min(most, span_.value() + span_.value() / 2 + reorder_allowance);
  }

 private:
  static constexpr std::uint32_t kEnough = 8;
  DecayingMaximum span_;
};

}  // namespace weft::recovery
