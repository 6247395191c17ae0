// P2 and P6 between a gateway's two ports: what is not ours passes unchanged, at once and in order; what is ours and
// arrived whole is never kept longer than the bound, and never vanishes.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <unordered_map>

#include "tests/property/sighting.h"

namespace weft::test {

inline constexpr recovery::Time kLongestHold = std::chrono::milliseconds(100);

class PassingWatch {
 public:
  PassingWatch(const sim::SitesConfig& config, Complaints& complaints)
      : config_(config), complaints_(complaints) {}

  void see(const Sighting& seen);
  // The agent of this side died or slept: what it held died with it.
  void agent_gone(sim::Side side) { waiting_[sim::index(side)].clear(); }
  // At the end, some time after the last packet.
  void finish(recovery::Time now);

  recovery::Time longest_hold() const { return longest_; }
  std::uint64_t untouched_packets() const { return untouched_; }

 private:
  struct PacketName {
    roce::FlowKey flow;
    std::uint32_t psn = 0;
    friend bool operator==(const PacketName&, const PacketName&) = default;
  };
  struct HashPacketName {
    std::size_t operator()(const PacketName& name) const {
      return std::hash<roce::FlowKey>()(name.flow) * 31 + name.psn;
    }
  };
  void see_untouched(const Sighting& seen);

  const sim::SitesConfig& config_;
  Complaints& complaints_;
  // Not ours, on the way through the gateway of a side, by the port it came in: lan, wan.
  std::array<std::array<std::deque<Bytes>, 2>, 2> passing_;
  // Ours, by side, with the time of arrival. A second copy of a held PSN may be dropped, so names have no fingerprint.
  std::array<std::unordered_map<PacketName, recovery::Time, HashPacketName>, 2> waiting_;
  recovery::Time longest_{0};
  std::uint64_t untouched_ = 0;
};

}  // namespace weft::test
