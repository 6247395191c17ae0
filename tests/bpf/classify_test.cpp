// One packet each: description, input, action, metadata and counters, as a table.
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <linux/bpf.h>

#include "tests/bpf/program_fixture.h"

namespace weft::test {
namespace {

using recovery::Port;
using roce::Opcode;

struct Taken {
  weft_reason reason;
  recovery::ClassId class_id;
  std::uint8_t level = 0;
  std::uint8_t l3_offset = 14;
  std::uint8_t flags = 0;
};

struct Case {
  std::string_view description;
  Port port;
  FrameSpec frame;
  std::optional<Taken> taken;           // else passed,
  weft_cause cause = WEFT_PASS_NO_TAG;  // counted as this
};

using ClassifyTest = ProgramFixture;

TEST_F(ClassifyTest, RocePacketsByTable) {
  const auto dscp = [](recovery::ClassId class_id, std::uint8_t level = 0, std::uint8_t l3_offset = 14,
                       std::uint8_t flags = 0) {
    return Taken{WEFT_REASON_DSCP, class_id, level, l3_offset, flags};
  };
  const std::vector<Case> cases = {
      {"DSCP in the table", Port::kLan, {.dscp = 10}, dscp(kDpHigh)},
      {"DSCP with a level", Port::kLan, {.dscp = 34}, dscp(kPp, 5)},
      {"DSCP not in the table", Port::kLan, {.dscp = 11}, {}},
      {"one VLAN tag", Port::kLan, {.dscp = 10, .vlans = 1}, dscp(kDpHigh, 0, 18)},
      {"two VLAN tags", Port::kLan, {.dscp = 10, .vlans = 2}, dscp(kDpHigh, 0, 22)},
      {"IPv6", Port::kLan, {.dscp = 10, .ipv6 = true}, dscp(kDpHigh, 0, 14, WEFT_META_IPV6)},
      {"IPv6 in two VLANs",
       Port::kLan,
       {.dscp = 34, .ipv6 = true, .vlans = 2},
       dscp(kPp, 5, 22, WEFT_META_IPV6)},
      {"PMTU 4096, in several buffers", Port::kLan, {.dscp = 10, .payload_bytes = 4096}, dscp(kDpHigh)},
      {"empty payload", Port::kLan, {.dscp = 10, .payload_bytes = 0}, dscp(kDpHigh)},
      {"unreliable connected", Port::kLan, {.opcode = Opcode::kUcRdmaWriteMiddle, .dscp = 10}, dscp(kDpHigh)},
      {"datagram transport",
       Port::kLan,
       {.opcode = Opcode::kUdSendOnly, .dscp = 10},
       {},
       WEFT_PASS_UNSUPPORTED},
      {"CNP", Port::kLan, {.opcode = Opcode::kCnp, .dscp = 10}, {}, WEFT_PASS_UNSUPPORTED},
      {"to the peer but from the wan", Port::kWan, {.dscp = 10}, {}, WEFT_PASS_NOT_PEER},
      {"from the peer but on the lan", Port::kLan, {.dscp = 10, .reversed = true}, {}, WEFT_PASS_NOT_PEER},
      {"from the peer, from the wan", Port::kWan, {.dscp = 10, .reversed = true}, dscp(kDpHigh)},
      {"an acknowledgement is an acknowledgement whatever its DSCP",
       Port::kLan,
       {.opcode = Opcode::kRcAcknowledge, .dscp = 10},
       dscp(kAck, 0, 14, WEFT_META_RESPONSE)},
      {"acknowledgement with no protected flow",
       Port::kLan,
       {.opcode = Opcode::kRcAcknowledge, .qpn = 0x999},
       {}},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.description);
    // Each case starts without flows.
    for (const auto map : {dataplane::MapName::kFlows, dataplane::MapName::kPairs}) {
      std::vector<Bytes> keys;
      ASSERT_TRUE(
          programs_->for_each_key(map, [&](ByteView key) { keys.emplace_back(key.begin(), key.end()); }));
      for (const Bytes& key : keys) {
        ASSERT_TRUE(programs_->erase(map, key));
      }
    }
    const Bytes frame = make_frame(test.frame);
    const RunResult result = run(test.port, frame);
    EXPECT_EQ(result.frame, frame);
    if (!test.taken) {
      EXPECT_EQ(result.action, XDP_PASS);
      EXPECT_FALSE(result.meta);
      EXPECT_EQ(result.counted, (CounterDelta{{{test.cause, 0}, 1}}));
      continue;
    }
    EXPECT_EQ(result.action, XDP_REDIRECT);
    EXPECT_EQ(result.counted,
              (CounterDelta{{{static_cast<weft_cause>(test.taken->reason), test.taken->class_id}, 1}}));
    ASSERT_TRUE(result.meta);
    EXPECT_EQ(result.meta->magic, WEFT_META_MAGIC);
    EXPECT_EQ(result.meta->reason, test.taken->reason);
    EXPECT_EQ(result.meta->class_id, test.taken->class_id);
    EXPECT_EQ(result.meta->level, test.taken->level);
    EXPECT_EQ(result.meta->l3_offset, test.taken->l3_offset);
    EXPECT_EQ(result.meta->l4_offset, test.taken->l3_offset + (test.frame.ipv6 ? 40 : 20));
    EXPECT_EQ(result.meta->flags, test.taken->flags);
    EXPECT_EQ(result.meta->peer, kPeerIndex);
    EXPECT_EQ(result.meta->frame_bytes, frame.size());
  }
}

TEST_F(ClassifyTest, EveryOpcodeOfTheTableIsKnown) {
  for (const roce::OpcodeInfo& info : roce::opcode_table()) {
    SCOPED_TRACE(info.name);
    const RunResult result = run(Port::kLan, make_frame({.opcode = info.opcode, .dscp = 10}));
    const bool connected = info.transport == roce::Transport::kRc || info.transport == roce::Transport::kUc;
    EXPECT_EQ(result.action, connected ? XDP_REDIRECT : XDP_PASS);
    EXPECT_EQ(result.counted.contains({WEFT_PASS_UNKNOWN_OPCODE, 0}), false);
  }
}

TEST_F(ClassifyTest, QueuePairTagComesBeforeDscp) {
  const auto dst = *roce::IpAddress::parse("10.2.0.2");
  ASSERT_TRUE(classifier_->tag_queue_pair(dst, 0x123, {.class_id = kPp, .level = 2, .layer = 9}));
  const RunResult tagged = run(Port::kLan, make_frame({.dscp = 10}));
  ASSERT_TRUE(tagged.meta);
  EXPECT_EQ(tagged.meta->reason, WEFT_REASON_QP);
  EXPECT_EQ(tagged.meta->class_id, kPp);
  EXPECT_EQ(tagged.meta->level, 2);
  EXPECT_EQ(tagged.meta->layer, 9);
  const RunResult other = run(Port::kLan, make_frame({.dscp = 10, .qpn = 0x124}));
  ASSERT_TRUE(other.meta);
  EXPECT_EQ(other.meta->reason, WEFT_REASON_DSCP);
}

TEST_F(ClassifyTest, AFlowOnceTakenStaysTaken) {
  EXPECT_EQ(run(Port::kLan, make_frame({.dscp = 10})).action, XDP_REDIRECT);
  const RunResult bleached = run(Port::kLan, make_frame({.dscp = 0}));
  ASSERT_TRUE(bleached.meta);
  EXPECT_EQ(bleached.meta->reason, WEFT_REASON_LEARNED);
  EXPECT_EQ(bleached.meta->class_id, kDpHigh);
  // The VLAN stack is part of the flow.
  EXPECT_EQ(run(Port::kLan, make_frame({.dscp = 0, .vlans = 1})).action, XDP_PASS);
}

TEST_F(ClassifyTest, AnAnnouncedFlowIsTakenWithoutADscp) {
  roce::FlowKey flow;
  flow.src = *roce::IpAddress::parse("10.2.0.2");
  flow.dst = *roce::IpAddress::parse("10.1.0.1");
  flow.dest_qpn = 0x123;
  ASSERT_TRUE(classifier_->learn_flow(flow, {.class_id = kDpLow, .level = 3}, std::chrono::nanoseconds(1)));
  const RunResult result = run(Port::kWan, make_frame({.reversed = true}));
  ASSERT_TRUE(result.meta);
  EXPECT_EQ(result.meta->reason, WEFT_REASON_LEARNED);
  EXPECT_EQ(result.meta->class_id, kDpLow);
  EXPECT_EQ(result.meta->level, 3);
  // Its acknowledgements leave by the lan.
  EXPECT_EQ(run(Port::kLan, make_frame({.opcode = Opcode::kRcAcknowledge, .qpn = 0x77})).action,
            XDP_REDIRECT);
}

TEST_F(ClassifyTest, ResponsesBetweenProtectedAddressesAreTakenWhateverTheirDscp) {
  const FrameSpec ack{.opcode = Opcode::kRcAcknowledge, .reversed = true, .qpn = 0x77};
  const FrameSpec read{.opcode = Opcode::kRcRdmaReadResponseMiddle, .reversed = true, .qpn = 0x77};
  EXPECT_EQ(run(Port::kWan, make_frame(ack)).action, XDP_PASS);
  EXPECT_EQ(run(Port::kLan, make_frame({.dscp = 10})).action, XDP_REDIRECT);
  const RunResult acknowledged = run(Port::kWan, make_frame(ack));
  ASSERT_TRUE(acknowledged.meta);
  EXPECT_EQ(acknowledged.meta->reason, WEFT_REASON_RESPONSE);
  EXPECT_EQ(acknowledged.meta->class_id, kAck);
  EXPECT_EQ(acknowledged.meta->flags, WEFT_META_RESPONSE);
  // READ data is not an acknowledgement but the strictest class, though the ACK was in the same flow.
  const RunResult data = run(Port::kWan, make_frame(read));
  ASSERT_TRUE(data.meta);
  EXPECT_EQ(data.meta->class_id, recovery::kClassExact);
  EXPECT_EQ(data.meta->flags, WEFT_META_RESPONSE);
  // Requests the other way are not responses.
  EXPECT_EQ(run(Port::kWan, make_frame({.reversed = true, .qpn = 0x77})).action, XDP_PASS);
}

TEST_F(ClassifyTest, WeftPacketsAreTakenFromTheWanOnly) {
  const Bytes weft = {'W', 'E', 'F', 'T', 1, 5, 0, 1};
  const Bytes other = {'W', 'E', 'F', 'X', 1, 5, 0, 1};
  const RunResult taken = run(Port::kWan, make_datagram(kWeftPort, weft, true));
  EXPECT_EQ(taken.action, XDP_REDIRECT);
  ASSERT_TRUE(taken.meta);
  EXPECT_EQ(taken.meta->reason, WEFT_REASON_WEFT);
  EXPECT_EQ(taken.counted, (CounterDelta{{{WEFT_TAKEN_WEFT, 0}, 1}}));
  const CounterDelta not_weft{{{WEFT_PASS_NOT_WEFT, 0}, 1}};
  EXPECT_EQ(run(Port::kWan, make_datagram(kWeftPort, other, true)).counted, not_weft);
  EXPECT_EQ(run(Port::kWan, make_datagram(kWeftPort, {}, true)).counted, not_weft);
  EXPECT_EQ(run(Port::kLan, make_datagram(kWeftPort, weft, false)).counted, not_weft);
  EXPECT_EQ(run(Port::kWan, make_datagram(kWeftPort, weft, false)).counted,
            (CounterDelta{{{WEFT_PASS_NOT_PEER, 0}, 1}}));
}

TEST_F(ClassifyTest, HostRoleTakesOnlyItsOwnAddresses) {
  tables_.local_addresses = {*roce::IpAddress::parse("10.1.0.9")};
  ASSERT_TRUE(classifier_->apply(tables_, recovery::PolicyTable::defaults()));
  const CounterDelta not_local{{{WEFT_PASS_NOT_LOCAL, 0}, 1}};
  const Bytes weft = make_datagram(kWeftPort, Bytes{'W', 'E', 'F', 'T'}, true);
  EXPECT_EQ(run(Port::kLan, make_frame({.dscp = 10})).counted, not_local);
  EXPECT_EQ(run(Port::kWan, make_frame({.dscp = 10, .reversed = true})).counted, not_local);
  EXPECT_EQ(run(Port::kWan, weft).counted, not_local);
  tables_.local_addresses->push_back(*roce::IpAddress::parse("10.1.0.1"));
  ASSERT_TRUE(classifier_->apply(tables_, recovery::PolicyTable::defaults()));
  EXPECT_EQ(run(Port::kLan, make_frame({.dscp = 10})).action, XDP_REDIRECT);
  EXPECT_EQ(run(Port::kWan, make_frame({.dscp = 10, .reversed = true})).action, XDP_REDIRECT);
  EXPECT_EQ(run(Port::kWan, weft).action, XDP_REDIRECT);
}

TEST_F(ClassifyTest, AReloadRemovesWhatIsNoLongerConfigured) {
  EXPECT_EQ(run(Port::kLan, make_frame({.dscp = 34})).action, XDP_REDIRECT);
  tables_.peers.erase(tables_.peers.begin());
  tables_.dscp[10].reset();
  ASSERT_TRUE(classifier_->apply(tables_, recovery::PolicyTable::defaults()));
  EXPECT_EQ(run(Port::kLan, make_frame({.dscp = 34})).counted, (CounterDelta{{{WEFT_PASS_NOT_PEER, 0}, 1}}));
  EXPECT_EQ(run(Port::kLan, make_frame({.dscp = 10, .ipv6 = true})).counted,
            (CounterDelta{{{WEFT_PASS_NO_TAG, 0}, 1}}));
  EXPECT_EQ(run(Port::kLan, make_frame({.dscp = 34, .ipv6 = true})).action, XDP_REDIRECT);
}

}  // namespace
}  // namespace weft::test
