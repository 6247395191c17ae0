// What a WAN does to packets, as plain values: one LinkProfile per direction and moment. Read from TOML by
// profile_file.h; the model that plays it is link.h.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "agent/base/units.h"

namespace weft::netem {

// Which packets of a direction are lost.
//   kIid             each with probability `probability`
//   kGilbertElliott  two states, loss 0 in good and 1 in bad, t_bg = 1/burst, t_gb = p/(burst (1-p)): loss
//                    probability p in runs of `burst` packets on average, stepped once per packet
//   kTrace           as recorded, from the beginning again when the record ends
struct LossProfile {
  enum class Model : std::uint8_t { kIid, kGilbertElliott, kTrace };
  Model model = Model::kIid;
  double probability = 0;
  double mean_burst_packets = 1;                   // 1 means kIid
  std::shared_ptr<const std::vector<bool>> trace;  // kTrace only, not empty; true = lost
};

struct LinkProfile {
  std::uint64_t rate_bits_per_second = 0;  // of IP packets; 0 = no limit, and then no queue
  Nanoseconds delay{0};                    // propagation, after the queue
  Nanoseconds jitter{0};                   // at most `delay`; uniform in [-jitter, jitter], never overtaking
  std::uint64_t queue_bytes = 0;           // of IP packets, the one being sent included
  LossProfile loss;
  double reorder = 0;  // fraction of packets that are held back by reorder_delay, so that others overtake
  Nanoseconds reorder_delay{1'000'000};
  double duplicate = 0;                              // fraction delivered twice
  double corrupt = 0;                                // fraction with one bit flipped from the IP header on
  bool bleach = false;                               // every IP packet's DSCP becomes 0
  std::optional<std::uint64_t> ecn_threshold_bytes;  // ECT packets that find more queued are marked CE
};

// A direction over time: the profile holds from `from` until the next one's.
struct ScheduledLink {
  Nanoseconds from{0};
  LinkProfile link;
};
using LinkSchedule = std::vector<ScheduledLink>;  // ascending; the first starts at 0

enum class Direction : std::uint8_t { kForward, kReverse };  // forward = from side a to side b
inline constexpr std::array kDirections{Direction::kForward, Direction::kReverse};

struct WanProfile {
  std::array<LinkSchedule, 2> schedules;  // by Direction
  std::uint64_t seed = 1;
};

}  // namespace weft::netem
