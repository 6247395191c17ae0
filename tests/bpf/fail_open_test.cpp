// Everything that must leave a packet to the bridge.
#include <gtest/gtest.h>
#include <linux/bpf.h>

#include "tests/bpf/program_fixture.h"

namespace weft::test {
namespace {

using dataplane::Mode;
using recovery::Port;
using roce::Opcode;

using FailOpenTest = ProgramFixture;

CounterDelta one(weft_cause cause, recovery::ClassId class_id = 0) { return {{{cause, class_id}, 1}}; }

TEST_F(FailOpenTest, StaleHeartbeatPasses) {
  const Bytes frame = make_frame({.dscp = 10});
  heartbeat_age_ns_ = WEFT_HEARTBEAT_LIMIT_NS + 1'000'000;
  for (const Port port : {Port::kLan, Port::kWan}) {
    const RunResult result = run(port, make_frame({.dscp = 10, .reversed = port == Port::kWan}));
    EXPECT_EQ(result.action, XDP_PASS);
    EXPECT_EQ(result.counted, one(WEFT_PASS_STALE));
    EXPECT_FALSE(result.meta);
  }
  heartbeat_age_ns_ = 0;
  EXPECT_EQ(run(Port::kLan, frame).action, XDP_REDIRECT);
}

TEST_F(FailOpenTest, NoSocketPasses) {
  close_socket(Port::kLan);
  const RunResult result = run(Port::kLan, make_frame({.dscp = 10}));
  EXPECT_EQ(result.action, XDP_PASS);
  EXPECT_EQ(result.counted, one(WEFT_PASS_NO_SOCKET));
}

TEST_F(FailOpenTest, ObserveCountsByClassAndTakesNothing) {
  ASSERT_TRUE(classifier_->set_mode(Mode::kObserve));
  const RunResult result = run(Port::kLan, make_frame({.dscp = 34}));
  EXPECT_EQ(result.action, XDP_PASS);
  EXPECT_EQ(result.counted, one(WEFT_OBSERVED, kPp));
  EXPECT_EQ(run(Port::kLan, make_frame({.dscp = 1})).counted, one(WEFT_PASS_NO_TAG));
}

TEST_F(FailOpenTest, BypassLooksAtNothing) {
  ASSERT_TRUE(classifier_->set_mode(Mode::kBypass));
  EXPECT_EQ(run(Port::kLan, make_frame({.dscp = 10})).counted, one(WEFT_PASS_BYPASS));
}

TEST_F(FailOpenTest, AShedFlowPassesUntilItIsForgotten) {
  const Bytes frame = make_frame({.dscp = 10});
  EXPECT_EQ(run(Port::kLan, frame).action, XDP_REDIRECT);
  const auto newest = classifier_->newest_flow();
  ASSERT_TRUE(newest && *newest);
  EXPECT_EQ((*newest)->dest_qpn, 0x123U);
  ASSERT_TRUE(classifier_->shed_flow(**newest));
  EXPECT_EQ(run(Port::kLan, frame).counted, one(WEFT_PASS_SHED));
  EXPECT_EQ(run(Port::kLan, make_frame({.dscp = 10, .qpn = 0x124})).action, XDP_REDIRECT);
  ASSERT_TRUE(classifier_->forget_flow(**newest));
  EXPECT_EQ(run(Port::kLan, frame).action, XDP_REDIRECT);
}

TEST_F(FailOpenTest, AFullFlowTableShedsTheNewcomer) {
  std::uint32_t qpn = 1;
  while (run(Port::kLan, make_frame({.dscp = 10, .qpn = qpn})).action == XDP_REDIRECT) {
    ASSERT_LT(++qpn, 100U);
  }
  EXPECT_EQ(run(Port::kLan, make_frame({.dscp = 10, .qpn = qpn})).counted, one(WEFT_PASS_FLOW_TABLE_FULL));
  EXPECT_EQ(run(Port::kLan, make_frame({.dscp = 10, .qpn = 1})).action, XDP_REDIRECT);
  const auto forgotten = classifier_->forget_idle(recovery::Time(INT64_MAX));
  ASSERT_TRUE(forgotten);
  EXPECT_GE(*forgotten, std::size_t{qpn - 1});
  EXPECT_EQ(run(Port::kLan, make_frame({.dscp = 10, .qpn = qpn})).action, XDP_REDIRECT);
}

TEST_F(FailOpenTest, WhatIsNotPlainRocePasses) {
  const Bytes good = make_frame({.dscp = 10});
  const Bytes good6 = make_frame({.dscp = 10, .ipv6 = true});
  struct Case {
    std::string_view description;
    weft_cause cause;
    const Bytes& base;
    std::size_t offset;
    std::uint8_t value;
  };
  const Case cases[] = {
      {"ARP", WEFT_PASS_NOT_IP, good, 13, 0x06},
      {"TCP", WEFT_PASS_NOT_UDP, good, 23, 6},
      {"another UDP port", WEFT_PASS_NOT_ROCE, good, 36, 0x13},
      {"first fragment", WEFT_PASS_FRAGMENT, good, 20, 0x20},
      {"later fragment", WEFT_PASS_FRAGMENT, good, 21, 0x08},
      {"IPv4 options", WEFT_PASS_IP_OPTIONS, good, 14, 0x46},
      {"IPv4 header too short", WEFT_PASS_MALFORMED, good, 14, 0x44},
      {"IPv4 with another version", WEFT_PASS_MALFORMED, good, 14, 0x65},
      {"IPv4 length beyond the frame", WEFT_PASS_MALFORMED, good, 16, 0x7f},
      {"UDP length differs", WEFT_PASS_MALFORMED, good, 39, 0x01},
      {"reserved opcode", WEFT_PASS_UNKNOWN_OPCODE, good, 42, 0x1f},
      {"transport version", WEFT_PASS_MALFORMED, good, 43, 0x01},
      {"IPv6 with another version", WEFT_PASS_MALFORMED, good6, 14, 0x40},
      {"IPv6 fragment", WEFT_PASS_FRAGMENT, good6, 20, 44},
      {"IPv6 hop-by-hop options", WEFT_PASS_NOT_UDP, good6, 20, 0},
      {"IPv6 length beyond the frame", WEFT_PASS_MALFORMED, good6, 18, 0x7f},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.description);
    Bytes frame = test.base;
    frame[test.offset] = test.value;
    const RunResult result = run(Port::kLan, frame);
    EXPECT_EQ(result.action, XDP_PASS);
    EXPECT_EQ(result.counted, one(test.cause));
    EXPECT_EQ(result.frame, frame);
  }
}

TEST_F(FailOpenTest, FramesTooLongForASocketPass) {
  EXPECT_EQ(run(Port::kLan, make_frame({.dscp = 10, .payload_bytes = kMaxFrameBytes})).counted,
            one(WEFT_PASS_TOO_LARGE));
}

TEST_F(FailOpenTest, ThreeVlanTagsPass) {
  Bytes frame = make_frame({.dscp = 10, .vlans = 2});
  const Bytes tag = {0x81, 0x00, 0x00, 0x01};
  frame.insert(frame.begin() + 12, tag.begin(), tag.end());
  EXPECT_EQ(run(Port::kLan, frame).counted, one(WEFT_PASS_NOT_IP));
}

TEST_F(FailOpenTest, PayloadShorterThanItsHeadersPasses) {
  // An ACK whose lengths leave no room for the AETH.
  Bytes frame = make_frame({.opcode = Opcode::kRcAcknowledge, .dscp = 10});
  const std::size_t short_by = 4;
  store_be16(&frame[16], static_cast<std::uint16_t>(load_be16(&frame[16]) - short_by));
  store_be16(&frame[38], static_cast<std::uint16_t>(load_be16(&frame[38]) - short_by));
  EXPECT_EQ(run(Port::kLan, frame).counted, one(WEFT_PASS_MALFORMED));
}

}  // namespace
}  // namespace weft::test
