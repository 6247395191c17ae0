// Seeded randomness that gives the same numbers on every machine and compiler. The standard library's engines
// are portable but its distributions are not, and a test that prints its seed must be repeatable anywhere.
#pragma once

#include <cstdint>

namespace weft {

// xoshiro256** by Blackman and Vigna (public domain), seeded by SplitMix64. A value type: copy it to fork a
// stream.
class Rng {
 public:
  explicit Rng(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
      seed += 0x9e3779b97f4a7c15U;
      std::uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
      word = z ^ (z >> 31);
    }
  }

  std::uint64_t next() {
    const std::uint64_t result = rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotl(state_[3], 45);
    return result;
  }

  // Uniform in [0, 1), 53 bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  // Uniform in [0, bound); bound > 0. The bias of the multiply is below 2^-32 for any bound used here.
  std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }

  // Uniform in [low, high], both included.
  std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + below(high - low + 1); }

  bool chance(double probability) { return uniform() < probability; }

  // An independent stream: same seed and different label give unrelated numbers.
  static Rng stream(std::uint64_t seed, std::uint64_t label) {
    return Rng(seed * 0xd1342543de82ef95U + label * 0x2545f4914f6cdd1dU + 1);
  }

 private:
  static std::uint64_t rotl(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  std::uint64_t state_[4];
};

}  // namespace weft
