// How many bytes Weft may add to a path (P9). A bucket earns bytes from traffic and from time, holds at most
// its depth, and starts full; what has been spent therefore never exceeds
//
//     depth + share * traffic bytes + bytes_per_second * elapsed
//
// Per peer and direction there are two: one for repairs, manifests and announcements, one for everything that
// keeps the session alive.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "agent/recovery/engine_io.h"

namespace weft::recovery {

struct BucketLimits {
  double share = 0;             // earned for every byte of traffic
  double bytes_per_second = 0;  // earned by time alone
  double depth_bytes = 0;
};

// Repairs, manifests, announcements: a share of the source bytes *sent* to the peer. The depth lets a short
// message after a pause be protected in full.
constexpr BucketLimits repair_bucket_limits(double max_overhead) {
  return {.share = max_overhead, .bytes_per_second = 0, .depth_bytes = 256 * 1024};
}

// Hello, feedback, NACKs, ACK copies: a share of the source bytes *received* from the peer, and enough to keep
// an idle session alive.
constexpr BucketLimits control_bucket_limits() {
  return {.share = 0.01, .bytes_per_second = 4000, .depth_bytes = 64 * 1024};
}

// What ACK copies leave of the bucket. They are small and many where messages are short, and would otherwise take every
// token before it grew to a feedback, whose absence ends the protection.
inline constexpr std::uint64_t kKeptForFeedbackBytes = 32 * 1024;

class TokenBucket {
 public:
  TokenBucket(const BucketLimits& limits, Time now)
      : limits_(limits), tokens_(limits.depth_bytes), updated_(now) {}

  // Traffic that earns tokens has passed.
  void earn(std::uint64_t traffic_bytes) { add(limits_.share * static_cast<double>(traffic_bytes)); }

  // Takes `bytes` if they are there and `keep_bytes` are left. Time that runs backwards earns nothing.
  [[nodiscard]] bool spend(std::uint64_t bytes, Time now, std::uint64_t keep_bytes = 0) {
    if (now > updated_) {
      add(limits_.bytes_per_second * std::chrono::duration<double>(now - updated_).count());
      updated_ = now;
    }
    const auto wanted = static_cast<double>(bytes);
    if (wanted + static_cast<double>(keep_bytes) > tokens_) return false;
    tokens_ -= wanted;
    return true;
  }

  // What could be spent now, without what time has earned since the last spend().
  double available_bytes() const { return tokens_; }

 private:
  void add(double bytes) { tokens_ = std::min(tokens_ + bytes, limits_.depth_bytes); }

  BucketLimits limits_;
  double tokens_;  // in [0, depth_bytes]
  Time updated_;
};

}  // namespace weft::recovery
