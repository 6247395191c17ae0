#include "agent/recovery/missing_set.h"

#include <gtest/gtest.h>

namespace weft::recovery {
namespace {

using namespace std::chrono_literals;
using roce::Psn;

MissingPacket of_block(const SourceName& name, std::uint32_t block, std::uint32_t epoch = 0) {
  return {.name = name,
          .epoch = epoch,
          .from_manifest = false,
          .stream = {},
          .ordinal = 0,
          .block = block,
          .column = 0,
          .hopeless = false,
          .listed_at = 0ms};
}
MissingPacket of_manifest(FlowHandle flow, Psn psn) {
  MissingPacket packet = of_block({flow, psn, 0}, kNoBlock);
  packet.from_manifest = true;
  return packet;
}

std::size_t answered(MissingSet& missing, const SourceName& name) {
  std::size_t found = 0;
  missing.arrived(name, [&](const MissingPacket&) { ++found; });
  return found;
}

TEST(MissingSet, AnArrivalAnswersForItsOwnBytesOnly) {
  MissingSet missing(8);
  missing.add(of_block({1, Psn(7), 100}, 3));
  EXPECT_EQ(answered(missing, {1, Psn(7), 200}), 0U) << "a retransmission";
  EXPECT_EQ(answered(missing, {2, Psn(7), 100}), 0U);
  EXPECT_EQ(answered(missing, {1, Psn(8), 100}), 0U);
  EXPECT_EQ(answered(missing, {1, Psn(7), 100}), 1U);
  EXPECT_TRUE(missing.empty());
}

TEST(MissingSet, AManifestNamesNoBytes) {
  MissingSet missing(8);
  missing.add(of_manifest(1, Psn(7)));
  EXPECT_EQ(answered(missing, {1, Psn(7), 200}), 1U);
}

TEST(MissingSet, OfSeveralEntriesTheMostPromisingIsFound) {
  MissingSet missing(8);
  missing.add(of_manifest(1, Psn(7)));
  missing.add(of_block({1, Psn(7), 100}, 3));
  missing.add(of_block({1, Psn(7), 100}, 4, 1));
  ASSERT_NE(missing.find(1, Psn(7), 0), nullptr);
  EXPECT_EQ(missing.find(1, Psn(7), 0)->block, 3U);
  EXPECT_EQ(missing.find(1, Psn(7), 1)->block, 4U) << "epochs do not mix";
  EXPECT_EQ(missing.find(1, Psn(7), 2), nullptr);
  missing.set_hopeless({1, Psn(7), 100}, 3);
  EXPECT_TRUE(missing.find(1, Psn(7), 0)->from_manifest);
}

TEST(MissingSet, IsBoundedAndForgets) {
  MissingSet missing(2);
  EXPECT_TRUE(missing.add(of_block({1, Psn(1), 0}, 1)));
  EXPECT_TRUE(missing.add(of_block({1, Psn(2), 0}, 2)));
  EXPECT_FALSE(missing.add(of_block({1, Psn(3), 0}, 3)));
  missing.remove({1, Psn(1), 0}, 2);
  EXPECT_EQ(missing.size(), 2U) << "another block's";
  missing.remove({1, Psn(1), 0}, 1);
  EXPECT_EQ(missing.size(), 1U);
  missing.expire(1ms);
  EXPECT_TRUE(missing.empty());
}

}  // namespace
}  // namespace weft::recovery
