// How long a packet may be held for a gap before it.
#pragma once

#include <algorithm>
#include <chrono>

#include "agent/recovery/engine_io.h"

namespace weft::recovery {

// A round trip and the hold together stay within three quarters of the endpoint's ACK timeout, or holding would cause
// the retransmission it is meant to avoid; and a hold never exceeds the 100 ms in which a dead agent must be out of the
// way (P6). Zero: the path leaves no time to hold anything.
inline Time hold_bound(Time rtt, Time endpoint_timeout) {
  constexpr Time kMost = std::chrono::milliseconds(100);
  return std::clamp(endpoint_timeout * 3 / 4 - rtt, Time::zero(), kMost);
}

}  // namespace weft::recovery
