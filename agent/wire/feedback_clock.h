// When feedback is due, and the round trip that sets its pace.
//
// While data passes: once a round trip. When it stops the distance grows by half each time, up to a quarter of
// a second, and after ten minutes feedback ends. Growing slowly keeps the promise made in the feedback before
// (its period_us) even if the next one is lost: the peer waits three and a half periods before it calls this
// side silent.
#pragma once

#include <cstdint>
#include <optional>

#include "agent/base/units.h"

namespace weft::wire {

class FeedbackClock {
 public:
  // A peer became complete: the first feedback is due at once.
  void start(Nanoseconds now);
  void on_data(Nanoseconds now);
  // The peer echoed what this side sent at `echoed_sent_at_ns`, `delay_ns` after it came. Nonsense is ignored.
  void on_echo(std::uint64_t echoed_sent_at_ns, std::uint64_t delay_ns, Nanoseconds now);

  // When the next feedback is due; Nanoseconds::max() when idle for too long.
  Nanoseconds due_at() const;
  // A feedback goes out now; the period it announces.
  Nanoseconds send(Nanoseconds now);

  std::optional<Nanoseconds> rtt() const { return rtt_; }
  // The path's own, without queues: the shortest of the last few hundred.
  std::optional<Nanoseconds> least_rtt() const { return least_rtt_; }

  // How long to wait for a peer that announced `period_us`.
  static Nanoseconds silence_after(std::uint32_t period_us);

 private:
  Nanoseconds active_period() const;

  std::optional<Nanoseconds> rtt_;
  std::optional<Nanoseconds> least_rtt_;
  Nanoseconds last_data_at_{0};
  Nanoseconds last_sent_at_{0};
  Nanoseconds next_at_{0};
  Nanoseconds period_{0};
};

}  // namespace weft::wire
