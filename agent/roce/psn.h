// Packet sequence numbers: 24 bits, modulo 2^24 (IBTA 9.7.2). Two PSNs are only ever compared within a window
// of 2^23, so there is a signed distance but no total order: no operator<.
#pragma once

#include <cstdint>

namespace weft::roce {

inline constexpr std::uint32_t kPsnMask = 0xffffff;
inline constexpr std::uint32_t kPsnCount = kPsnMask + 1;

struct Psn {
  std::uint32_t value = 0;  // always within 24 bits

  constexpr Psn() = default;
  constexpr explicit Psn(std::uint32_t v) : value(v & kPsnMask) {}

  friend constexpr bool operator==(Psn, Psn) = default;
  friend constexpr Psn operator+(Psn a, std::uint32_t packets) { return Psn(a.value + packets); }
  friend constexpr Psn operator-(Psn a, std::uint32_t packets) { return Psn(a.value - packets); }
  constexpr Psn& operator+=(std::uint32_t packets) { return *this = *this + packets; }
  constexpr Psn& operator++() { return *this += 1; }
};

// Packets from `from` to `to`: negative when `to` is older. In [-2^23, 2^23). Same rule as rdma_rxe's
// psn_compare.
constexpr std::int32_t psn_distance(Psn from, Psn to) {
  return static_cast<std::int32_t>((to.value - from.value) << 8) >> 8;
}

constexpr bool psn_before(Psn a, Psn b) { return psn_distance(a, b) > 0; }
constexpr bool psn_at_or_before(Psn a, Psn b) { return psn_distance(a, b) >= 0; }

// True when psn is in [first, first + packets). packets < 2^24.
constexpr bool psn_in_run(Psn psn, Psn first, std::uint32_t packets) {
  return ((psn.value - first.value) & kPsnMask) < packets;
}

}  // namespace weft::roce
