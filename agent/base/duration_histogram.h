// Percentiles of durations in constant memory: buckets of a sixteenth of a power of two, so a percentile is at most 7 % too
// high. A value type.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>

#include "agent/base/units.h"

namespace weft {

class DurationHistogram {
 public:
  void add(Nanoseconds duration) {
    ++counts_[bucket_of(static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0)))];
    ++samples_;
  }
  void add(const DurationHistogram& other) {
    for (std::size_t i = 0; i < kBuckets; ++i)
      counts_[i] += other.counts_[i];
    samples_ += other.samples_;
  }

  std::uint64_t samples() const { return samples_; }
  // Nearest rank: no less than this share of the samples is at or below it. Nullopt without samples.
  std::optional<Nanoseconds> percentile(double share) const {
    if (samples_ == 0) return std::nullopt;
    const auto rank = std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(samples_))));
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < kBuckets; ++i) {
      below += counts_[i];
      if (below >= rank) return Nanoseconds(static_cast<std::int64_t>(largest_in(i)));
    }
    return Nanoseconds(static_cast<std::int64_t>(largest_in(kBuckets - 1)));
  }

 private:
  // Values below 2^kUnitBits ns share a bucket per sixteenth of that; beyond 2^kLastBit ns, 17 s, the last one.
  static constexpr unsigned kUnitBits = 10;
  static constexpr unsigned kLastBit = 34;
  static constexpr unsigned kStepBits = 4;
  static constexpr std::size_t kBuckets = (kLastBit - kUnitBits + 1) << kStepBits;

  static std::size_t bucket_of(std::uint64_t ns) {
    if (ns < (1U << kUnitBits)) return ns >> (kUnitBits - kStepBits);
    const auto power = static_cast<unsigned>(std::bit_width(ns)) - 1;
    if (power >= kLastBit) return kBuckets - 1;
    const std::uint64_t step = (ns >> (power - kStepBits)) - (1U << kStepBits);
    return (std::size_t{power - kUnitBits + 1} << kStepBits) + step;
  }
  static std::uint64_t largest_in(std::size_t bucket) {
    const std::size_t octave = bucket >> kStepBits;
    const std::uint64_t step = bucket & ((1U << kStepBits) - 1);
    if (octave == 0) return ((step + 1) << (kUnitBits - kStepBits)) - 1;
    const unsigned power = kUnitBits + static_cast<unsigned>(octave) - 1;
    return (((1U << kStepBits) + step + 1) << (power - kStepBits)) - 1;
  }

  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t samples_ = 0;
};

}  // namespace weft
