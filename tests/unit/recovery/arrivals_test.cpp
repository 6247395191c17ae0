#include "agent/recovery/arrivals.h"

#include <ctime>

#include <gtest/gtest.h>

#include "testbed/sim/frame_pool.h"

namespace weft::recovery {
namespace {

using namespace std::chrono_literals;
using roce::Psn;

class ArrivalsTest : public testing::Test {
 protected:
  std::size_t add(Arrivals& arrivals, const SourceName& name, bool keep = true, Time at = 0ms) {
    const FrameId frame = pool_.put(Bytes(64));
    const std::size_t let_go = arrivals.add(name, 0, frame, keep, at);
    pool_.release(frame);
    return let_go;
  }
  sim::FramePool pool_;
};

TEST_F(ArrivalsTest, ANameIsFlowPsnAndFingerprint) {
  Arrivals arrivals(pool_, 16, 16);
  add(arrivals, {1, Psn(7), 100});
  add(arrivals, {1, Psn(7), 200});
  add(arrivals, {2, Psn(7), 100});
  EXPECT_NE(arrivals.find({1, Psn(7), 200}), nullptr);
  EXPECT_EQ(arrivals.find({2, Psn(7), 200}), nullptr);
  EXPECT_EQ(arrivals.find({1, Psn(8), 100}), nullptr);
}

TEST_F(ArrivalsTest, EachArrivalAnswersForOneListing) {
  Arrivals arrivals(pool_, 16, 16);
  add(arrivals, {1, Psn(7), 100}, true, 1ms);
  add(arrivals, {1, Psn(7), 200}, true, 2ms);
  Arrivals::Record* first = arrivals.find_unlisted(1, Psn(7));
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->at, 1ms);
  first->listed = true;
  Arrivals::Record* second = arrivals.find_unlisted(1, Psn(7));
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->at, 2ms);
  second->listed = true;
  EXPECT_EQ(arrivals.find_unlisted(1, Psn(7)), nullptr);
}

TEST_F(ArrivalsTest, TheOldestRecordsAndFramesGiveWay) {
  Arrivals arrivals(pool_, 8, 4);
  std::size_t let_go = 0;
  for (std::uint32_t psn = 0; psn < 20; ++psn)
    let_go += add(arrivals, {1, Psn(psn), 0});
  EXPECT_EQ(let_go, 16U);
  EXPECT_EQ(arrivals.frames(), 4U);
  EXPECT_EQ(pool_.in_use(), 4U);
  EXPECT_EQ(arrivals.find({1, Psn(11), 0}), nullptr);
  ASSERT_NE(arrivals.find({1, Psn(12), 0}), nullptr);
  EXPECT_FALSE(arrivals.find({1, Psn(12), 0})->has_frame);
  EXPECT_TRUE(arrivals.find({1, Psn(16), 0})->has_frame);
}

TEST_F(ArrivalsTest, FramesAreLetGoByAgeAndOnRequest) {
  Arrivals arrivals(pool_, 8, 8);
  for (std::uint32_t psn = 0; psn < 4; ++psn)
    add(arrivals, {1, Psn(psn), 0}, true, psn * 1ms);
  EXPECT_EQ(arrivals.drop_frames_before(2ms), 2U);
  arrivals.drop_frame(*arrivals.find({1, Psn(3), 0}));
  arrivals.drop_frame(*arrivals.find({1, Psn(3), 0}));
  EXPECT_EQ(pool_.in_use(), 1U);
  EXPECT_EQ(arrivals.drop_oldest_frames(10), 1U);
  EXPECT_EQ(pool_.in_use(), 0U);
}

TEST_F(ArrivalsTest, OwnsItsFramesUntilItEnds) {
  {
    Arrivals arrivals(pool_, 8, 8);
    add(arrivals, {1, Psn(1), 0});
    add(arrivals, {1, Psn(2), 0}, false);
    EXPECT_EQ(pool_.in_use(), 1U);
  }
  EXPECT_EQ(pool_.in_use(), 0U);
}

// What a receiver answers when a window is sent to it again: the same PSN, over and over.
TEST_F(ArrivalsTest, OnePsnInEveryRecordCostsNoMoreThanAnyOther) {
  constexpr std::uint32_t kRecords = 1 << 15;
  Arrivals arrivals(pool_, kRecords, 1);
  const std::clock_t before = std::clock();
  for (std::uint32_t i = 0; i < 8 * kRecords; ++i)
    arrivals.add({1, Psn(7), static_cast<std::uint16_t>(i)}, 0, FrameId{}, false, 0ms);
  EXPECT_LT(std::clock() - before, 2 * CLOCKS_PER_SEC) << "of processor time";
  EXPECT_NE(arrivals.find({1, Psn(7), 0xffff}), nullptr);
  EXPECT_EQ(arrivals.find({1, Psn(7), 0x7fff}), nullptr) << "gave way";
}

}  // namespace
}  // namespace weft::recovery
