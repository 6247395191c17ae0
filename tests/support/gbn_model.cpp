#include "tests/support/gbn_model.h"

#include <algorithm>
#include <limits>

namespace weft::test {

GbnModel::Chain::Chain(double loss, double mean_burst, Rng rng)
    : enter_bad_(mean_burst == 1 ? loss : loss / (mean_burst * (1 - loss))),
      stay_bad_(mean_burst == 1 ? loss : 1 - 1 / mean_burst),
      rng_(rng) {}

bool GbnModel::Chain::next_is_lost() { return bad_ = rng_.chance(bad_ ? stay_bad_ : enter_bad_); }

GbnModel::GbnModel(const GbnLink& link, std::uint64_t seed)
    : link_(link),
      forward_(link.loss, link.mean_burst, Rng::stream(seed, 1)),
      reverse_(link.loss, link.mean_burst, Rng::stream(seed, 2)) {}

double GbnModel::message_ms(std::uint32_t packets) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const double round_trip_ms = 2 * link_.one_way_ms;
  double round_start = 0;
  std::uint32_t acknowledged = 0;  // the sender knows that these arrived
  std::uint32_t received = 0;      // in order
  bool may_nak = true;
  while (true) {
    double last_progress = round_start;
    double nak_at = kNever;
    bool duplicate_acknowledged = false;
    std::uint32_t known = acknowledged;
    for (std::uint32_t k = acknowledged; k < packets; ++k) {
      const double sent = round_start + (k - acknowledged + 1) * link_.packet_ms;
      if (sent - link_.packet_ms >= nak_at) break;  // the NAK is here: no further packet leaves
      const bool lost = forward_.next_is_lost();
      if (lost) continue;
      bool acknowledges = false;
      if (k < received) {
        acknowledges = !duplicate_acknowledged || k + 1 == packets;
        duplicate_acknowledged = true;
      } else if (k == received) {
        ++received;
        may_nak = true;
        acknowledges = received % link_.ack_every == 0 || received == packets;
      } else if (may_nak) {
        may_nak = false;
        if (!reverse_.next_is_lost()) nak_at = sent + round_trip_ms;
      }
      if (acknowledges && !reverse_.next_is_lost()) {
        last_progress = sent + round_trip_ms;
        known = std::max(known, received);
        if (known == packets) return last_progress;
      }
    }
    if (nak_at != kNever) {
      round_start = nak_at;
      acknowledged = received;  // a NAK acknowledges everything before the gap
    } else {
      round_start = last_progress + link_.timeout_ms;
      acknowledged = known;
    }
  }
}

}  // namespace weft::test
