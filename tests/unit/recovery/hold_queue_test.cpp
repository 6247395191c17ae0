#include "agent/recovery/hold_queue.h"

#include <gtest/gtest.h>

namespace weft::recovery {
namespace {

using namespace std::chrono_literals;
using roce::Psn;

HeldPacket packet(std::uint32_t psn, std::uint32_t frame, bool ce_marked = false, Time at = 0ms) {
  return {.facts = {.psn = Psn(psn), .op = nullptr, .read_length_bytes = 0, .resent = false},
          .payload_bytes = 0,
          .ack = std::nullopt,
          .frame = {frame},
          .at = at,
          .ce_marked = ce_marked};
}

TEST(HoldQueue, GivesBackInPsnOrderAcrossTheWrap) {
  HoldQueue held;
  for (const std::uint32_t psn : {0xffffffU, 2U, 0U, 0xfffffeU, 1U})
    EXPECT_FALSE(held.insert(packet(psn, psn)));
  for (const std::uint32_t psn : {0xfffffeU, 0xffffffU, 0U, 1U, 2U})
    EXPECT_EQ(held.take_front().facts.psn, Psn(psn));
  EXPECT_TRUE(held.empty());
}

TEST(HoldQueue, HoldsAPsnOnce) {
  HoldQueue held;
  EXPECT_FALSE(held.insert(packet(5, 1)));
  EXPECT_FALSE(held.insert(packet(7, 2)));
  EXPECT_EQ(held.insert(packet(5, 3)), FrameId{3});
  EXPECT_EQ(held.insert(packet(7, 4)), FrameId{4});
  EXPECT_EQ(held.size(), 2U);
  EXPECT_EQ(held.front().frame, FrameId{1});
  EXPECT_EQ(held.back().frame, FrameId{2});
}

TEST(HoldQueue, OfTwoCopiesTheOneWithAMarkStays) {
  HoldQueue held;
  EXPECT_FALSE(held.insert(packet(5, 1)));
  EXPECT_EQ(held.insert(packet(5, 2, true)), FrameId{1});
  EXPECT_EQ(held.front().frame, FrameId{2});
  EXPECT_EQ(held.insert(packet(5, 3)), FrameId{3});
  EXPECT_EQ(held.insert(packet(5, 4, true)), FrameId{4}) << "one mark is as good as another";
  EXPECT_EQ(held.front().frame, FrameId{2});
}

TEST(HoldQueue, KnowsWhoHasWaitedLongest) {
  HoldQueue held;
  EXPECT_FALSE(held.insert(packet(9, 1, false, 3ms)));
  EXPECT_FALSE(held.insert(packet(7, 2, false, 5ms)));
  EXPECT_EQ(held.oldest(), 3ms);
  EXPECT_EQ(held.insert(packet(9, 3, true, 8ms)), FrameId{1});
  EXPECT_EQ(held.oldest(), 3ms) << "a copy does not begin the wait anew";
}

}  // namespace
}  // namespace weft::recovery
