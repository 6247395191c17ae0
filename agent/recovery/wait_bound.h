// How long a gap is worth waiting for, learned from what is seen rather than configured.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "agent/recovery/engine_io.h"

namespace weft::recovery {

// The largest of recent values: follows up at once, and down by a sixteenth per observation.
class DecayingMaximum {
 public:
  void observe(Time value) {
    value_ = value >= value_ ? value : value_ - (value_ - value) / 16;
    ++observations_;
  }
  Time value() const { return value_; }
  std::uint32_t observations() const { return observations_; }

 private:
  Time value_{};
  std::uint32_t observations_ = 0;
};

// How late a packet may be without being lost, on the path from this peer.
class ReorderAllowance {
 public:
  // A packet closed its gap by itself after so long. A retransmission looks the same, but takes a round trip.
  void observe_late(Time lateness, Time rtt) {
    if (rtt == Time::zero() ? lateness < kMost : lateness < rtt / 2) lateness_.observe(lateness);
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
  void observe(Time age) { span_.observe(age); }
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
