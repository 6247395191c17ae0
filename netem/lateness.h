// How much later than the model said frames left: a histogram in powers of two.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "agent/base/units.h"

namespace weft::netem {

class Lateness {
 public:
  void record(Nanoseconds late) {
    const auto us = static_cast<std::uint64_t>(std::max<std::int64_t>(0, late.count()) / 1000);
    ++buckets_[std::min<std::size_t>(std::bit_width(us), buckets_.size() - 1)];
    ++total_;
    max_us_ = std::max(max_us_, us);
  }

  // An upper bound of the quantile, within a factor of two; 0 without frames.
  std::uint64_t quantile_us(double fraction) const {
    const auto wanted = static_cast<std::uint64_t>(fraction * static_cast<double>(total_));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      seen += buckets_[i];
      if (seen > wanted) return std::min((std::uint64_t{1} << i) - 1, max_us_);
    }
    return max_us_;
  }
  std::uint64_t max_us() const { return max_us_; }

 private:
  std::array<std::uint64_t, 32> buckets_{};  // bucket i: below 2^i microseconds
  std::uint64_t total_ = 0;
  std::uint64_t max_us_ = 0;
};

}  // namespace weft::netem
