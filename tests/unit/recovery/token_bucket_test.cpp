#include "agent/recovery/token_bucket.h"

#include <gtest/gtest.h>

#include "tests/support/seed.h"

namespace weft::recovery {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(TokenBucket, StartsFullAndNoFuller) {
  TokenBucket bucket(repair_bucket_limits(0.25), Time{0});
  bucket.earn(1'000'000'000);
  EXPECT_TRUE(bucket.spend(256 * 1024, Time{0}));
  EXPECT_FALSE(bucket.spend(1, Time{0}));
}

TEST(TokenBucket, EarnsItsShareOfTraffic) {
  TokenBucket bucket(repair_bucket_limits(0.25), Time{0});
  ASSERT_TRUE(bucket.spend(256 * 1024, Time{0}));
  bucket.earn(4000);
  EXPECT_FALSE(bucket.spend(1001, seconds(100)));  // time earns nothing here
  EXPECT_TRUE(bucket.spend(1000, seconds(100)));
}

TEST(TokenBucket, ControlEarnsFromTimeToo) {
  TokenBucket bucket(control_bucket_limits(), seconds(5));
  ASSERT_TRUE(bucket.spend(64 * 1024, seconds(5)));
  EXPECT_FALSE(bucket.spend(401, seconds(5) + milliseconds(100)));
  EXPECT_TRUE(bucket.spend(400, seconds(5) + milliseconds(100)));
  bucket.earn(1000);
  EXPECT_TRUE(bucket.spend(10, seconds(5) + milliseconds(100)));
  EXPECT_FALSE(bucket.spend(1, seconds(1)));  // a clock that runs backwards earns nothing
}

// Whatever the order of events, the bound in the header holds, and a refusal is never further from it than the
// packet refused.
TEST(TokenBucket, SpendsWhatItEarnsAndNoMore) {
  Rng rng = weft::test::rng(31);
  for (int round = 0; round < 50; ++round) {
    const BucketLimits limits{.share = rng.uniform() * 0.4,
                              .bytes_per_second = rng.uniform() * 1e4,
                              .depth_bytes = static_cast<double>(rng.between(2000, 300000))};
    Time now{0};
    TokenBucket bucket(limits, now);
    double traffic = 0;
    double spent = 0;
    for (int step = 0; step < 5000; ++step) {
      now += Time(rng.below(200'000));
      if (rng.chance(0.6)) {
        const std::uint64_t bytes = rng.between(64, 4200);
        traffic += static_cast<double>(bytes);
        bucket.earn(bytes);
      }
      const std::uint64_t wanted = rng.between(64, 1500);
      if (rng.chance(0.5) && bucket.spend(wanted, now)) spent += static_cast<double>(wanted);
      const double bound = limits.depth_bytes + limits.share * traffic +
                           limits.bytes_per_second * std::chrono::duration<double>(now).count();
      ASSERT_LE(spent, bound + 1e-3);
    }
  }
}

}  // namespace
}  // namespace weft::recovery
