#include "testbed/sim/frame_pool.h"

#include <gtest/gtest.h>

namespace weft::sim {
namespace {

using recovery::FrameId;
using recovery::Port;

const Bytes kFrame{1, 2, 3, 4};

TEST(FramePool, RecordsSendsPerPortInOrderAndTakesTheReference) {
  FramePool pool;
  const FrameId a = pool.put(kFrame);
  const FrameId b = pool.put(Bytes{5});
  pool.send(Port::kWan, b);
  pool.send(Port::kLan, pool.put(Bytes{6}));
  pool.send(Port::kWan, a);
  EXPECT_EQ(pool.in_use(), 0U);
  EXPECT_EQ(pool.peak_in_use(), 2U);
  const auto wan = pool.take_sent(Port::kWan);
  ASSERT_EQ(wan.size(), 2U);
  EXPECT_EQ(wan[0].bytes, Bytes{5});
  EXPECT_EQ(wan[1].bytes, kFrame);
  EXPECT_EQ(wan[1].frame, a);
  EXPECT_EQ(pool.take_sent(Port::kLan).size(), 1U);
  EXPECT_TRUE(pool.take_sent(Port::kWan).empty());
}

TEST(FramePool, ARetainedFrameSurvivesItsTransmission) {
  FramePool pool;
  const FrameId frame = pool.put(kFrame);
  pool.retain(frame);
  pool.send(Port::kWan, frame);
  EXPECT_EQ(pool.references(frame), 1U);
  EXPECT_EQ(Bytes(pool.bytes(frame).begin(), pool.bytes(frame).end()), kFrame);
  pool.release(frame);
  EXPECT_EQ(pool.references(frame), 0U);
}

TEST(FramePool, SlowTransmissionsHoldTheirFrames) {
  FramePool pool;
  pool.set_slow_transmit(true);
  pool.send(Port::kWan, pool.put(kFrame));
  EXPECT_EQ(pool.in_use(), 1U);
  pool.complete_transmissions();
  EXPECT_EQ(pool.in_use(), 0U);
}

TEST(FramePool, AllocationEndsAtTheCapacity) {
  FramePool pool(2);
  EXPECT_TRUE(pool.allocate(10));
  const auto second = pool.allocate(10);
  ASSERT_TRUE(second);
  EXPECT_FALSE(pool.allocate(10));
  pool.release(*second);
  EXPECT_TRUE(pool.allocate(20));
}

TEST(FramePool, ASinkTakesFramesInsteadOfTheRecord) {
  FramePool pool;
  std::size_t bytes_seen = 0;
  pool.set_sink([&](Port, FrameId, ByteView bytes) { bytes_seen += bytes.size(); });
  pool.send(Port::kWan, pool.put(kFrame));
  EXPECT_EQ(bytes_seen, kFrame.size());
  EXPECT_TRUE(pool.take_sent(Port::kWan).empty());
}

using FramePoolDeathTest = ::testing::Test;

TEST(FramePoolDeathTest, MisuseEndsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  FramePool pool;
  const FrameId gone = pool.put(kFrame);
  pool.release(gone);
  EXPECT_DEATH(pool.release(gone), "release of frame");
  EXPECT_DEATH(pool.send(Port::kWan, gone), "send of frame");
  EXPECT_DEATH(pool.bytes(gone), "read of frame");
  const FrameId shared = pool.put(kFrame);
  pool.retain(shared);
  EXPECT_DEATH(pool.writable_bytes(shared), "somebody else references it");
}

TEST(FramePoolDeathTest, AReusedSlotDoesNotAnswerToItsOldName) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  FramePool pool;
  const FrameId gone = pool.put(kFrame);
  pool.release(gone);
  pool.put(kFrame);
  EXPECT_DEATH(pool.bytes(gone), "its last reference was spent");
}

}  // namespace
}  // namespace weft::sim
