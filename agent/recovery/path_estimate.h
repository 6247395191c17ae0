// What feedback has taught about the path to a peer, as far as timing of the encoder depends on it.
#pragma once

#include <algorithm>
#include <chrono>

#include "agent/recovery/engine_io.h"

namespace weft::recovery {

struct PathEstimate {
  // Until the first measurement: a long path, so that nothing is repeated before it could be answered.
  Time rtt = std::chrono::milliseconds(100);
  // How often the peer reports, as it says.
  Time feedback_period = std::chrono::milliseconds(50);
  // Mean run of consecutive losses, at least 1.
  double burst_packets = 1;

  // How long it may take until feedback covers what has just been sent.
  Time answer_time() const { return rtt + rtt / 4 + feedback_period; }

  // A pause that a burst of losses hardly outlives where packets follow each other at `packet_spacing`: four
  // times its mean length. Not so long that a repeat came too late to be of use.
  Time beyond_a_burst(Time packet_spacing) const {
    using std::chrono::milliseconds;
    const auto pause = std::chrono::duration_cast<Time>(packet_spacing * (4 * burst_packets));
    return std::clamp<Time>(pause, milliseconds(1), milliseconds(10));
  }
};

}  // namespace weft::recovery
