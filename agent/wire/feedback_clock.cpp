#include "agent/wire/feedback_clock.h"

#include <algorithm>

namespace weft::wire {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// A LAN's round trip would ask for thousands a second, which tell no more than a hundred do.
constexpr Nanoseconds kShortestPeriod = milliseconds(10);
// Four a second while idle.
constexpr Nanoseconds kLongestPeriod = milliseconds(250);
constexpr Nanoseconds kIdleEnd = std::chrono::minutes(10);
// Of a WAN, until it has been measured.
constexpr Nanoseconds kAssumedRtt = milliseconds(50);
// Longer is not a path but a clock gone wrong.
constexpr Nanoseconds kLongestRtt = std::chrono::seconds(10);

// Bounds on what counts as silence: shorter would let a few losses in a row end the protection, longer would
// send repairs to a host whose agent is gone.
constexpr Nanoseconds kShortestSilence = milliseconds(300);
constexpr Nanoseconds kLongestSilence = std::chrono::seconds(1);

}  // namespace

void FeedbackClock::start(Nanoseconds now) {
  // The peer has data to protect, even if none has passed here yet.
  last_data_at_ = now;
  period_ = active_period();
  next_at_ = now;
}

void FeedbackClock::on_data(Nanoseconds now) {
  last_data_at_ = now;
  if (period_ > active_period()) next_at_ = std::min(next_at_, last_sent_at_ + active_period());
}

void FeedbackClock::on_echo(std::uint64_t echoed_sent_at_ns, std::uint64_t delay_ns, Nanoseconds now) {
  const auto now_ns = static_cast<std::uint64_t>(now.count());
  if (echoed_sent_at_ns == 0 || echoed_sent_at_ns > now_ns) return;
  const std::uint64_t since_sent_ns = now_ns - echoed_sent_at_ns;
  if (delay_ns >= since_sent_ns) return;
  const Nanoseconds sample(since_sent_ns - delay_ns);
  if (sample > kLongestRtt) return;
  rtt_ = rtt_ ? *rtt_ + (sample - *rtt_) / 8 : sample;  // RFC 6298's weight
  // Down at once; up so slowly that a queue of seconds hardly moves it, for the day the path becomes a longer one.
  const bool longer = least_rtt_ && sample > *least_rtt_;
  least_rtt_ = longer ? *least_rtt_ + (sample - *least_rtt_) / 256 : sample;
}

Nanoseconds FeedbackClock::active_period() const {
  return std::clamp(rtt_.value_or(kAssumedRtt), kShortestPeriod, kLongestPeriod);
}

Nanoseconds FeedbackClock::due_at() const {
  return next_at_ <= last_data_at_ + kIdleEnd ? next_at_ : Nanoseconds::max();
}

Nanoseconds FeedbackClock::send(Nanoseconds now) {
  const Nanoseconds active = active_period();
  const bool data_passes = now - last_data_at_ <= 2 * active;
  period_ = data_passes ? active : std::clamp(period_ * 3 / 2, active, kLongestPeriod);
  last_sent_at_ = now;
  next_at_ = now + period_;
  return period_;
}

Nanoseconds FeedbackClock::silence_after(std::uint32_t period_us) {
  // Three periods in which one should have come, and half of one for jitter.
  return std::clamp<Nanoseconds>(microseconds(period_us) * 7 / 2, kShortestSilence, kLongestSilence);
}

}  // namespace weft::wire
