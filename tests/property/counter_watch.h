// P8 at both ports of a gateway: an agent's counters say what was seen on its wires. Frames in are frames out but for what
// was counted as dropped, made anew or made up; every Weft packet is counted by kind and every byte of it.
//
// Judges one life of an agent at its end. Frames that a bridge carries past a stopped agent are none of its business.
#pragma once

#include <array>
#include <cstdint>

#include "tests/property/sighting.h"

namespace weft::test {

class CounterWatch {
 public:
  CounterWatch(const sim::SitesConfig& config, Complaints& complaints)
      : config_(config), complaints_(complaints) {}

  // `tolerance`: frames whose mark was damaged on the WAN, which nothing protects, may be counted as others'.
  void set_tolerance(std::uint64_t frames) { tolerance_ = frames; }

  void see(const Sighting& seen);
  void agent_started(sim::Side side) { sides_[sim::index(side)] = {}; }
  void agent_runs(sim::Side side, bool runs) { sides_[sim::index(side)].runs = runs; }
  // Before the agent of this side ends.
  void judge(sim::Side side, const recovery::Engine& engine);

 private:
  struct OfSide {
    bool runs = true;
    std::array<std::uint64_t, recovery::kMaxClasses> from_lan{};  // RoCE that the agent takes
    std::uint64_t from_wan = 0;
    std::uint64_t to_lan = 0;
    std::array<std::uint64_t, 8> weft_packets{};  // sent, by type
    std::uint64_t repair_bytes = 0;
    std::uint64_t control_bytes = 0;
  };
  void expect(const char* what, std::uint64_t counted, std::uint64_t seen, std::uint64_t tolerance);

  const sim::SitesConfig& config_;
  Complaints& complaints_;
  std::uint64_t tolerance_ = 0;
  std::array<OfSide, 2> sides_;
};

}  // namespace weft::test
