// P9 at the wan ports: what an agent adds never takes more than is in its two token buckets, computed a second time from
// what passes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "tests/property/sighting.h"

namespace weft::test {

class OverheadWatch {
 public:
  OverheadWatch(const sim::SitesConfig& config, double max_overhead, Complaints& complaints)
      : config_(config), max_overhead_(max_overhead), complaints_(complaints) {}

  void see(const Sighting& seen);
  // A new agent starts with full buckets.
  void agent_started(sim::Side side, recovery::Time now) {
    sides_[sim::index(side)] = {};
    sides_[sim::index(side)].earned_at = now;
  }

 private:
  struct Bucket {
    explicit Bucket(double depth) : depth_bytes(depth), tokens(depth) {}
    void earn(double bytes) { tokens = std::min(tokens + bytes, depth_bytes); }
    double depth_bytes;
    double tokens;
  };
  struct OfSide {
    recovery::Time earned_at{0};
    Bucket overhead{256 * 1024};  // repairs, manifests, announcements
    Bucket control{64 * 1024};    // hello, feedback, ACK copies
  };

  const sim::SitesConfig& config_;
  double max_overhead_;
  Complaints& complaints_;
  std::array<OfSide, 2> sides_;
};

}  // namespace weft::test
