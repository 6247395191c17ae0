// Message tags hold for exactly the PSNs of their message.
#include <gtest/gtest.h>
#include <linux/bpf.h>

#include "tests/bpf/program_fixture.h"

namespace weft::test {
namespace {

using recovery::Port;
using roce::Opcode;

class MessageTagTest : public ProgramFixture {
 protected:
  static constexpr std::uint32_t kRkey = 0x5151;
  static constexpr std::uint64_t kVa = 0x7f0000001000;

  // A region tagged dp-low level 3.
  void tag_region(std::uint64_t va, std::uint64_t length_bytes, recovery::Tag tag) {
    ASSERT_TRUE(
        classifier_->tag_message({*roce::IpAddress::parse("10.2.0.2"), kRkey, va, length_bytes}, tag));
  }
  // The tag of a packet, or nullopt when it passed.
  std::optional<recovery::Tag> tag_of(const FrameSpec& spec) {
    const RunResult result = run(Port::kLan, make_frame(spec));
    if (result.action != XDP_REDIRECT || !result.meta) return std::nullopt;
    return recovery::Tag{result.meta->class_id, result.meta->level, result.meta->layer};
  }
  static FrameSpec first(std::uint32_t psn, std::uint64_t va, std::uint32_t length_bytes,
                         std::uint32_t rkey = kRkey) {
    return {.opcode = Opcode::kRcRdmaWriteFirst, .psn = psn, .reth = {va, rkey, length_bytes}};
  }
  static FrameSpec middle(std::uint32_t psn, unsigned dscp = 0) { return {.dscp = dscp, .psn = psn}; }

  static constexpr recovery::Tag kLoose{.class_id = kDpLow, .level = 3, .layer = 12};
  static constexpr recovery::Tag kStrict{.class_id = kDpHigh};
};

TEST_F(MessageTagTest, HoldsForTheRunOfPsnsAndNoLonger) {
  tag_region(kVa, 1 << 20, kLoose);
  EXPECT_EQ(tag_of(first(100, kVa, 10 * 1024)), kLoose);  // PSNs 100 to 109
  EXPECT_EQ(tag_of(middle(101)), kLoose);
  EXPECT_EQ(tag_of({.opcode = Opcode::kRcRdmaWriteLast, .psn = 109, .payload_bytes = 1000}), kLoose);
  // Beyond the message: the strictest the flow is known to carry, which here is all it ever carried.
  const RunResult beyond = run(Port::kLan, make_frame(middle(110)));
  ASSERT_TRUE(beyond.meta);
  EXPECT_EQ(beyond.meta->reason, WEFT_REASON_MESSAGE);
  EXPECT_EQ(beyond.meta->class_id, kDpLow);
}

TEST_F(MessageTagTest, OutsideEveryRunTheStrictestWins) {
  tag_region(kVa, 4096, kLoose);
  tag_region(kVa + 4096, 4096, kStrict);
  EXPECT_EQ(tag_of(first(100, kVa, 4096)), kLoose);
  EXPECT_EQ(tag_of(first(104, kVa + 4096, 4096)), kStrict);
  EXPECT_EQ(tag_of(middle(103)), kLoose);  // go-back-N rewinds into the older message
  EXPECT_EQ(tag_of(middle(107)), kStrict);
  EXPECT_EQ(tag_of(middle(108)), kStrict);  // in no message
  EXPECT_EQ(tag_of(middle(99)), kStrict);
  EXPECT_EQ(tag_of({.opcode = Opcode::kRcSendOnly, .psn = 102}), kStrict);  // a SEND is in no WRITE
  EXPECT_EQ(tag_of(middle(108, 34)), kStrict);  // a looser DSCP does not loosen it
}

TEST_F(MessageTagTest, AnUntaggedMessageShadowsAnOlderRun) {
  tag_region(kVa, 4096, kLoose);
  ASSERT_TRUE(classifier_->tag_queue_pair(*roce::IpAddress::parse("10.2.0.2"), 0x123, kStrict));
  EXPECT_EQ(tag_of(first(100, kVa, 4096)), kLoose);
  EXPECT_EQ(tag_of(middle(101)), kLoose);
  // The queue pair is used again: the same PSNs, another buffer.
  EXPECT_EQ(tag_of(first(100, 0x1000, 4096, 0x9999)), kStrict);
  EXPECT_EQ(tag_of(middle(101)), kStrict);
}

TEST_F(MessageTagTest, RangesMatchExactly) {
  tag_region(kVa + 3, 4099, kLoose);
  const auto only = [&](std::uint64_t va) {
    return tag_of(
        {.opcode = Opcode::kRcRdmaWriteOnly, .qpn = 0x200, .payload_bytes = 8, .reth = {va, kRkey, 8}});
  };
  EXPECT_EQ(only(kVa + 2), std::nullopt);
  EXPECT_EQ(only(kVa + 4102), std::nullopt);
  EXPECT_EQ(only(kVa + 3), kLoose);
  EXPECT_EQ(only(kVa + 4101), kLoose);
}

TEST_F(MessageTagTest, PsnsWrap) {
  tag_region(kVa, 1 << 20, kLoose);
  tag_region(kVa + (1 << 20), 4096, kStrict);
  EXPECT_EQ(tag_of(first(50, kVa + (1 << 20), 4096)), kStrict);
  EXPECT_EQ(tag_of(first(0xfffffe, kVa, 4096)), kLoose);
  EXPECT_EQ(tag_of(middle(0xffffff)), kLoose);
  EXPECT_EQ(tag_of(middle(0)), kLoose);
  EXPECT_EQ(tag_of(middle(1)), kLoose);
  EXPECT_EQ(tag_of(middle(2)), kStrict);
}

TEST_F(MessageTagTest, ARunFarBehindIsForgotten) {
  tag_region(kVa, 4096, kLoose);
  tag_region(kVa + 4096, 4096, kStrict);
  EXPECT_EQ(tag_of(first(100, kVa, 4096)), kLoose);
  EXPECT_EQ(tag_of(first(104, kVa + 4096, 4096)), kStrict);
  EXPECT_EQ(tag_of(middle(100 + WEFT_RUN_EXPIRY_PACKETS)), kStrict);
  EXPECT_EQ(tag_of(middle(101)), kStrict);  // would be kLoose, had the run not expired
}

TEST_F(MessageTagTest, UntaggingRestoresTheOtherSources) {
  tag_region(kVa, 4096, kLoose);
  ASSERT_TRUE(classifier_->untag_message({*roce::IpAddress::parse("10.2.0.2"), kRkey, kVa, 4096}));
  EXPECT_EQ(tag_of(first(100, kVa, 4096)), std::nullopt);
}

}  // namespace
}  // namespace weft::test
