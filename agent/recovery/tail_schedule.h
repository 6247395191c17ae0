// When the end of a message is told again. Nothing follows a tail that could make its loss seen or make good
// for it, so what describes and protects it is sent twice, the second time beyond a burst's reach, and again
// while no feedback covers it within a round trip; each time after twice as long, and not for ever.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "agent/recovery/engine_io.h"

namespace weft::recovery {

class TailSchedule {
 public:
  // The first copy has just gone out. `spacing` reaches beyond a burst of losses.
  void start(Time now, Time spacing) {
    due_ = now + spacing;
    repeats_ = 0;
  }
  // Feedback covers it, or something newer took its place.
  void stop() { due_.reset(); }

  bool active() const { return due_.has_value(); }
  std::optional<Time> due() const { return due_; }

  // True when a copy is to be sent now. `answer_time` is how long feedback may take to cover it.
  bool take_due(Time now, Time answer_time) {
    if (!due_ || now < *due_) return false;
    if (repeats_ == kMaxRepeats) {
      due_.reset();
      return false;
    }
    due_ = now + answer_time * (1 << repeats_);
    ++repeats_;
    return true;
  }

 private:
  // The second copy, and two that wait for feedback: after those the endpoint's own timer is as good.
  static constexpr int kMaxRepeats = 3;
  std::optional<Time> due_;
  int repeats_ = 0;
};

}  // namespace weft::recovery
