#include "agent/dataplane/frame_pool.h"

#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/seed.h"

namespace weft::dataplane {
namespace {

constexpr std::uint64_t kBase = 8 * kChunkBytes;

class FramePoolTest : public testing::Test {
 protected:
  std::vector<std::uint8_t> memory_ = std::vector<std::uint8_t>(16 * kChunkBytes);
  FramePool pool_{memory_, kBase};
};

TEST_F(FramePoolTest, ReferencesKeepAFrame) {
  const auto frame = pool_.allocate(1000);
  ASSERT_TRUE(frame);
  EXPECT_EQ(pool_.bytes(*frame).size(), 1000U);
  EXPECT_EQ(pool_.free_chunks(), 15U);
  pool_.retain(*frame);
  pool_.release(*frame);
  EXPECT_EQ(pool_.free_chunks(), 15U);
  pool_.release(*frame);
  EXPECT_EQ(pool_.free_chunks(), 16U);
}

TEST_F(FramePoolTest, ALongFrameIsContiguousAndBothAddressesNameIt) {
  const auto frame = pool_.allocate(kChunkBytes + 1);
  ASSERT_TRUE(frame);
  EXPECT_EQ(pool_.free_chunks(), 14U);
  EXPECT_EQ(pool_.bytes(*frame).size(), kChunkBytes + 1);
  const std::uint64_t address = pool_.address(*frame);
  EXPECT_EQ(pool_.frame_at(address), *frame);
  EXPECT_EQ(pool_.frame_at(address + kChunkBytes), *frame);
  pool_.release(*frame);
  EXPECT_EQ(pool_.free_chunks(), 16U);
}

TEST_F(FramePoolTest, AddressesCountFromTheSlicesBase) {
  const auto frame = pool_.allocate(100);
  ASSERT_TRUE(frame);
  EXPECT_EQ(pool_.address(*frame), kBase + std::uint64_t{*frame} * kChunkBytes);
  pool_.set_extent(*frame, 256, 60);
  EXPECT_EQ(pool_.address(*frame), kBase + std::uint64_t{*frame} * kChunkBytes + 256);
  EXPECT_EQ(pool_.bytes(*frame).data(), memory_.data() + std::size_t{*frame} * kChunkBytes + 256);
  EXPECT_EQ(pool_.frame_at(pool_.address(*frame)), *frame);
}

TEST_F(FramePoolTest, ScatteredSinglesLeaveNoPair) {
  std::vector<ChunkIndex> frames;
  while (const auto frame = pool_.allocate(64))
    frames.push_back(*frame);
  EXPECT_EQ(frames.size(), 16U);
  for (const ChunkIndex frame : frames) {
    if (frame % 2 == 0) pool_.release(frame);
  }
  EXPECT_EQ(pool_.free_chunks(), 8U);
  EXPECT_FALSE(pool_.allocate(5000));
  pool_.release(1);
  EXPECT_EQ(pool_.allocate(5000), 0U);
}

// Against a plain model: frames never overlap, nothing is lost, and when all is free every pair is whole again.
TEST_F(FramePoolTest, RandomUse) {
  Rng random = test::rng(0xf7);
  std::map<ChunkIndex, std::pair<std::size_t, int>> live;  // chunks, references
  for (int step = 0; step < 100'000; ++step) {
    const auto any = [&] { return std::next(live.begin(), static_cast<long>(random.below(live.size()))); };
    switch (random.below(4)) {
      case 0:
      case 1: {
        const std::size_t frame_bytes = random.between(1, kMaxFrameBytes);
        const std::size_t chunks = frame_bytes > kChunkBytes ? 2 : 1;
        const auto frame = pool_.allocate(frame_bytes);
        if (!frame) {
          ASSERT_TRUE(chunks == 2 || pool_.free_chunks() == 0);
          break;
        }
        for (const auto& [head, use] : live) {
          ASSERT_TRUE(*frame + chunks <= head || head + use.first <= *frame) << "overlap";
        }
        live[*frame] = {chunks, 1};
        break;
      }
      case 2:
        if (live.empty()) break;
        if (const auto it = any(); it->second.second < 5) {
          pool_.retain(it->first);
          ++it->second.second;
        }
        break;
      default:
        if (live.empty()) break;
        const auto it = any();
        pool_.release(it->first);
        if (--it->second.second == 0) live.erase(it);
    }
    std::size_t used = 0;
    for (const auto& [head, use] : live) {
      used += use.first;
    }
    ASSERT_EQ(pool_.free_chunks(), pool_.chunks() - used);
  }
  for (const auto& [head, use] : live) {
    for (int i = 0; i < use.second; ++i) {
      pool_.release(head);
    }
  }
  for (int pair = 0; pair < 8; ++pair) {
    EXPECT_TRUE(pool_.allocate(kMaxFrameBytes));
  }
}

}  // namespace
}  // namespace weft::dataplane
