// The machine's clocks, for whoever touches the machine: data path, emulator, drivers. The core is told the time.
#pragma once

#include <ctime>

#include "agent/base/units.h"

namespace weft {

inline Nanoseconds to_nanoseconds(const timespec& time) {
  return std::chrono::seconds(time.tv_sec) + Nanoseconds(time.tv_nsec);
}

// Not negative.
inline timespec to_timespec(Nanoseconds duration) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
  return {.tv_sec = seconds.count(), .tv_nsec = (duration - seconds).count()};
}

inline Nanoseconds clock_now(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return to_nanoseconds(now);
}

// CLOCK_MONOTONIC: the same in every process and network namespace, and what bpf_ktime_get_ns() reads.
inline Nanoseconds monotonic_now() { return clock_now(CLOCK_MONOTONIC); }

}  // namespace weft
