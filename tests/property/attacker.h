// Somebody on the path who records Weft packets and sends them again: to where they went, back to where they came from,
// and with bits changed. Has no key.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/base/rng.h"
#include "testbed/sim/two_sites.h"

namespace weft::test {

class Attacker {
 public:
  explicit Attacker(Rng rng) : rng_(rng) {}

  // A Weft packet entered the WAN.
  void record(sim::Side from, ByteView frame);
  // Sends some into the WAN; counts each kind in `hits`.
  void attack(sim::TwoSites& sites, std::map<std::string, std::uint64_t>& hits);

 private:
  struct Recorded {
    sim::Side from;
    Bytes frame;
  };
  Bytes forged(Bytes frame);

  Rng rng_;
  std::vector<Recorded> recorded_;
};

}  // namespace weft::test
