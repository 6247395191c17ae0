// WAN profiles in TOML (netem/profiles/*.toml). Every key is optional:
//
//   seed = 1
//   [both]                      # or [forward] (a to b) and [reverse] (b to a); these refine [both]
//   rate = "200mbit"            # of IP packets; without it there is no queue
//   delay = "15ms"              # one way
//   jitter = "1ms"              # plus or minus, order is kept
//   queue = "2bdp"              # bytes ("64k") or a multiple of rate x (both delays); default 2bdp
//   loss = 1e-3                 # or { model = "iid", p = 1e-3 }, { model = "gilbert-elliott", p = 1e-3,
//                               # burst = 4 }, { model = "trace", file = "x.trace" } with characters 0
//                               # (delivered) and 1 (lost); a number alone changes p and keeps the burst
//   reorder = 1e-3              # this fraction is held back by reorder_delay ("1ms")
//   duplicate = 1e-4
//   corrupt = 1e-5
//   ecn_threshold = "64k"       # CE on ECT packets that find more queued
//   [[step]]                    # the same keys from a later moment on
//   at = "10s"
//   direction = "both"          # forward | reverse | both, the default
//   loss = 1e-2
//
// Errors name file and line, and what to write instead.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/base/result.h"
#include "netem/link_profile.h"

namespace weft::netem {

// A queue as written: bytes, or a multiple of the bandwidth-delay product of the path, there and back.
struct QueueSize {
  double bdp_multiple = 2;
  std::optional<std::uint64_t> bytes;  // wins
  static Result<QueueSize> parse(std::string_view text);
  std::uint64_t resolve(std::uint64_t rate_bits_per_second, Nanoseconds rtt) const;
};

// What a command line changes in the base of a profile, before its steps are laid over it.
struct ProfileOverrides {
  std::optional<std::uint64_t> rate_bits_per_second;
  std::optional<Nanoseconds> delay;           // one way
  std::array<std::optional<double>, 2> loss;  // by Direction
  std::optional<double> mean_burst_packets;
  std::optional<QueueSize> queue;
  std::optional<std::uint64_t> seed;
};

// Sets loss probability and burst of a profile; refuses pairs no two-state chain has.
Status set_loss(LossProfile& loss, double probability, double mean_burst_packets);

Result<WanProfile> parse_profile(std::string_view toml, const std::string& path,
                                 const ProfileOverrides& overrides);
Result<WanProfile> load_profile(const std::string& path, const ProfileOverrides& overrides);

}  // namespace weft::netem
