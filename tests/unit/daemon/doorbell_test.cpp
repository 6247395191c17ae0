#include "agent/daemon/doorbell.h"

#include <gtest/gtest.h>

namespace weft::daemon {
namespace {

TEST(Doorbell, ManyRingsAreAnsweredOnce) {
  const auto bell = Doorbell::create();
  ASSERT_TRUE(bell);
  EXPECT_FALSE(bell->answer());
  bell->ring();
  bell->ring();
  EXPECT_TRUE(bell->answer());
  EXPECT_FALSE(bell->answer());
}

}  // namespace
}  // namespace weft::daemon
