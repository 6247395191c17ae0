// The loss process of one direction of a link.
//
// Policies are only comparable on the same losses, yet a policy that sends repairs puts more packets on the
// link. So there are two streams. `kData` (first transmissions of RoCE requests and READ data, the packets
// every policy sends alike) is stepped by its own packets and nothing else: which of them are lost depends on
// the seed alone. `kRest` (resends, ACKs, repairs, control, strangers) draws from its own randomness, but
// takes over the state of the data stream at every data packet, so that a repair sent inside a burst dies in
// it as on a real link. Both have the loss probability and the burst length of the profile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "agent/base/rng.h"
#include "netem/link_profile.h"

namespace weft::netem {

enum class Stream : std::uint8_t { kData, kRest };
inline constexpr std::size_t kStreams = 2;

class LossProcess {
 public:
  LossProcess(const LossProfile& profile, std::uint64_t seed, std::uint64_t label);

  // Another profile from the next packet on; states, randomness and places in a trace carry over.
  void change_to(const LossProfile& profile) { profile_ = profile; }

  // True when the next packet of this stream is lost. Takes exactly one random number, whatever the profile.
  bool next_is_lost(Stream stream);

 private:
  bool step(Stream stream, double draw);

  LossProfile profile_;
  std::array<Rng, kStreams> rng_;
  std::array<bool, kStreams> bad_{};  // Gilbert-Elliott state, kept by every model
  std::array<std::size_t, kStreams> trace_next_{};
};

}  // namespace weft::netem
