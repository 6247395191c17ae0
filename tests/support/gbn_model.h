// Go-back-N completion times by Monte Carlo, from the protocol's definition and not from the endpoint's code:
// the oracle that says whether the endpoint loses as much time to loss as go-back-N should, no less, no more.
//
// A sender sends a message packet by packet, `packet_time` each. The receiver takes packets in order. It
// acknowledges every `ack_every` packets and the end; the first packet beyond a gap draws one NAK, and nothing
// more does until the gap is closed. A NAK that arrives makes the sender start again at the gap; without one
// the timer, started at the last progress, makes it start again at the last acknowledged packet. Packets it
// sends again that were received draw an acknowledgement of everything. One message at a time, no window
// limit, no other delay than the path's.
#pragma once

#include <cstdint>

#include "agent/base/rng.h"

namespace weft::test {

struct GbnLink {
  double packet_ms = 0;
  double one_way_ms = 0;
  double timeout_ms = 0;
  double loss = 0;
  double mean_burst = 1;
  std::uint32_t ack_every = 16;
};

class GbnModel {
 public:
  GbnModel(const GbnLink& link, std::uint64_t seed);

  // Completion time of one message, in milliseconds.
  double message_ms(std::uint32_t packets);

 private:
  // Two states, stepped per packet: independent losses when the mean burst is 1.
  class Chain {
   public:
    Chain(double loss, double mean_burst, Rng rng);
    bool next_is_lost();

   private:
    double enter_bad_;
    double stay_bad_;
    Rng rng_;
    bool bad_ = false;
  };

  GbnLink link_;
  Chain forward_;
  Chain reverse_;
};

}  // namespace weft::test
