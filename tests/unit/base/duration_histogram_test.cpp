#include "agent/base/duration_histogram.h"

#include <vector>

#include <gtest/gtest.h>

#include "agent/base/rng.h"
#include "tests/support/seed.h"

namespace weft {
namespace {

TEST(DurationHistogram, PercentilesAreNearestRankAndNeverTooLow) {
  Rng rng(test::seed());
  DurationHistogram histogram;
  std::vector<std::int64_t> samples;
  for (int i = 0; i < 5000; ++i) {
    // All magnitudes up to 4 s.
    samples.push_back(static_cast<std::int64_t>(rng.next() >> 32 >> (rng.next() % 32)));
    histogram.add(Nanoseconds(samples.back()));
  }
  std::ranges::sort(samples);
  for (const double share : {0.0, 0.01, 0.5, 0.9, 0.99, 1.0}) {
    const auto rank = static_cast<std::size_t>(std::ceil(share * 5000));
    const std::int64_t exact = samples[std::max<std::size_t>(rank, 1) - 1];
    const std::int64_t found = histogram.percentile(share)->count();
    EXPECT_GE(found, exact) << share;
    EXPECT_LE(found, exact + exact / 15 + 64) << share;
  }
}

TEST(DurationHistogram, HoldsTheWholeRange) {
  DurationHistogram histogram;
  EXPECT_EQ(histogram.percentile(0.5), std::nullopt);
  histogram.add(Nanoseconds(-5));
  EXPECT_LT(*histogram.percentile(1), std::chrono::microseconds(1));
  histogram.add(std::chrono::hours(1));
  EXPECT_GT(*histogram.percentile(1), std::chrono::seconds(17));
  DurationHistogram sum;
  sum.add(histogram);
  sum.add(histogram);
  EXPECT_EQ(sum.samples(), 4U);
  EXPECT_EQ(sum.percentile(0.5), histogram.percentile(0.5));
}

}  // namespace
}  // namespace weft
