#include "agent/daemon/overload_guard.h"

#include <gtest/gtest.h>

namespace weft::daemon {
namespace {

TEST(OverloadGuard, OneBurstIsNoOverload) {
  OverloadGuard guard;
  EXPECT_FALSE(guard.check(0));
  EXPECT_FALSE(guard.check(500));
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(guard.check(500));
  }
}

TEST(OverloadGuard, ShedsOneFlowACheckWhileFramesAreBeingLost) {
  OverloadGuard guard;
  std::uint64_t lost = 0;
  for (int i = 1; i < kOverloadedChecks; ++i) {
    EXPECT_FALSE(guard.check(++lost));
  }
  EXPECT_TRUE(guard.check(++lost));
  EXPECT_TRUE(guard.check(++lost));
  EXPECT_FALSE(guard.check(lost)) << "the losses ended";
  EXPECT_FALSE(guard.check(++lost)) << "and must last again";
}

}  // namespace
}  // namespace weft::daemon
