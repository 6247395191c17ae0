// netem: the WAN between two sites. The model here is pure: virtual time and packets go in, fates come out;
// weft-wan plays it over two interfaces, the simulator in virtual time.
//
//   enter -> [tail drop | queue, CE] -> serialise at `rate` -> [lost] -> delay, jitter, reorder -> deliver
//                                                                        duplicate, corrupt
//
// A lost packet has used its share of the link: loss lies behind the bottleneck. The loss process is stepped
// at entry, before the queue, so that which data packets are lost depends on their order only.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>

#include "agent/base/rng.h"
#include "netem/link_profile.h"
#include "netem/loss.h"

namespace weft::netem {

struct LinkPacket {
  std::uint32_t ip_bytes = 0;  // from the IP header on; at least 1
  Stream stream = Stream::kRest;
  bool ect = false;  // ECN-capable transport: may be marked instead of being dropped
};

struct Fate {
  enum class Outcome : std::uint8_t { kDelivered, kLost, kTailDropped };
  Outcome outcome = Outcome::kDelivered;
  // The rest is meaningful for delivered packets only.
  Nanoseconds deliver_at{0};
  bool duplicated = false;  // deliver a second copy right behind the first
  bool reordered = false;   // held back by reorder_delay
  bool ce_marked = false;
  bool bleached = false;                     // set the DSCP to 0
  std::optional<std::uint32_t> corrupt_bit;  // flip this bit, counted from the start of the IP header
};

// One direction. Not thread-safe; the caller keeps the packets and delivers them.
class Link {
 public:
  // Two links of one seed differ by label. The schedule is not empty.
  Link(LinkSchedule schedule, std::uint64_t seed, Direction direction);

  // A packet arrives. `now` counts from the start of the schedule and never decreases.
  Fate enter(Nanoseconds now, const LinkPacket& packet);

  // Bytes in the queue at `now`, the packet being sent included.
  std::uint64_t queued_bytes(Nanoseconds now);

  // The earliest a packet entering at any later time can be delivered after its entry.
  Nanoseconds least_delay() const;

 private:
  struct Serialised {
    Nanoseconds done;
    std::uint32_t ip_bytes;
  };
  // Each impairment has randomness of its own in each stream: switching one on changes no other.
  struct Dice {
    Rng jitter, reorder, duplicate, corrupt;
  };

  void follow_schedule(Nanoseconds now);
  Nanoseconds serialise(Nanoseconds now, std::uint32_t ip_bytes);
  const LinkProfile& profile() const { return schedule_[current_].link; }

  LinkSchedule schedule_;
  std::size_t current_ = 0;
  LossProcess loss_;
  std::array<Dice, kStreams> dice_;
  std::deque<Serialised> queue_;
  std::uint64_t queued_bytes_ = 0;
  Nanoseconds busy_until_{0};
  std::uint64_t busy_fraction_ = 0;  // of busy_until_, in 1/rate ns: serialisation is exact over any run
  Nanoseconds last_delivery_{0};
};

}  // namespace weft::netem
