// Cases of the restorer that a random link hardly ever makes.
#include "agent/recovery/restorer.h"

#include <gtest/gtest.h>

#include "agent/fec/block_encoder.h"
#include "agent/recovery/fill_log.h"
#include "agent/roce/builder.h"
#include "testbed/sim/frame_pool.h"

namespace weft::recovery {
namespace {

using namespace std::chrono_literals;
using roce::Opcode;
using roce::Psn;

constexpr std::uint32_t kPmtu = 256;
constexpr std::uint32_t kQpn = 0x77;
constexpr std::uint32_t kAnswerQpn = 0x99;
constexpr wire::StreamId kDpHigh{1, 0};
constexpr wire::StreamId kDpLow{2, 0};

class RestorerCase : public testing::Test {
 protected:
  RestorerCase() { restorer_.set_rtt(10ms); }
  ~RestorerCase() override {
    restorer_.drop_stale();
    EXPECT_EQ(pool_.in_use(), 0U);
  }

  roce::PacketPath path() const {
    roce::PacketPath path;
    path.src = *roce::IpAddress::parse("10.1.0.1");
    path.dst = *roce::IpAddress::parse("10.2.0.1");
    path.tos = 0x2a;
    return path;
  }
  Bytes frame(std::uint32_t psn, std::uint16_t ip_id = 1, Opcode opcode = Opcode::kRcRdmaWriteMiddle) const {
    roce::PacketPath below = path();
    below.ip_id = ip_id;
    roce::PacketHeaders headers;
    headers.bth.opcode = opcode;
    headers.bth.dest_qpn = kQpn;
    headers.bth.psn = Psn(psn);
    headers.reth = {.va = 0x1000, .rkey = 5, .length_bytes = 1000 * kPmtu};
    return roce::build_frame(below, headers, Bytes(kPmtu, static_cast<std::uint8_t>(psn | 1)));
  }
  void source(const Bytes& bytes) {
    const FrameId id = pool_.put(bytes);
    restorer_.on_source(id, *roce::PacketView::parse(pool_.bytes(id)), now_);
  }
  void announce(wire::StreamId stream, wire::FlowId id = 1, std::uint8_t epoch = 0) {
    wire::Announcement announcement;
    announcement.flows.push_back(
        {.id = id, .epoch = epoch, .stream = stream, .key = roce::PacketView::parse(frame(0))->flow_key()});
    restorer_.on_announcement(announcement, {}, now_);
  }
  // An acknowledgement of the local endpoint.
  Bytes answer(std::uint32_t psn, std::uint8_t syndrome = 0x1f) const {
    roce::PacketPath below = path();
    std::swap(below.src, below.dst);
    below.udp_source_port = 0xd111;
    roce::PacketHeaders headers;
    headers.bth.opcode = Opcode::kRcAcknowledge;
    headers.bth.dest_qpn = kAnswerQpn;
    headers.bth.psn = Psn(psn);
    headers.aeth = {.syndrome = syndrome, .msn = 1};
    return roce::build_frame(below, headers, {});
  }
  void answered(std::uint32_t psn, std::uint8_t syndrome = 0x1f) {
    const Bytes bytes = answer(psn, syndrome);
    restorer_.on_lan_packet(*roce::PacketView::parse(bytes), now_);
  }
  // A message of 1000 packets from PSN 0, of which `packets` arrive, paired with its answers.
  void fillable_message(std::uint32_t packets) {
    announce(kDpLow);
    source(frame(0, 1, Opcode::kRcRdmaWriteFirst));
    for (std::uint32_t psn = 1; psn < packets; ++psn) {
      source(frame(psn));
      answered(psn);
    }
    pool_.take_sent(Port::kLan);
  }
  std::vector<std::uint32_t> delivered() {
    std::vector<std::uint32_t> psns;
    for (const auto& sent : pool_.take_sent(Port::kLan))
      psns.push_back(roce::PacketView::parse(sent.bytes)->psn().value);
    return psns;
  }
  void advance(Time by) {
    for (now_ += by; restorer_.next_deadline() && *restorer_.next_deadline() <= now_;)
      restorer_.tick(now_);
  }
  std::uint64_t count(Event event) const { return counters_.total(event); }

  sim::FramePool pool_{1024};
  PolicyTable policy_ = [] {
    PolicyTable policy = PolicyTable::defaults();
    policy.min_fill_message_bytes = 1024;
    for (LevelPolicy& level : policy.classes[2].levels)
      level.fill_budget = 0.5;
    return policy;
  }();
  Counters counters_;
  FillLog fills_{100};
  Time now_{1s};
  Restorer restorer_{pool_, policy_, {}, counters_, fills_};
};

// A block of these packets, of flow id 1, with one repair.
struct CodedBlock {
  explicit CodedBlock(const std::vector<Bytes>& packets) {
    fec::BlockEncoder encoder;
    encoder.open(fec::CodeKind::kReedSolomon, 1, 2048);
    repair.stream = kDpHigh;
    repair.k = static_cast<std::uint8_t>(packets.size());
    repair.r = 1;
    for (const Bytes& packet : packets) {
      const auto view = roce::PacketView::parse(packet);
      EXPECT_TRUE(encoder.add(fec::SourceSymbol(false, view->ip_packet()).pieces()));
      repair.sources.push_back({.flow = 1, .psn = view->psn(), .fingerprint = view->fingerprint()});
    }
    symbol.assign(encoder.repair(0).begin(), encoder.repair(0).end());
    repair.symbol_bytes = static_cast<std::uint16_t>(symbol.size());
    repair.symbol = symbol;
  }
  Bytes symbol;
  wire::Repair repair;
};

TEST_F(RestorerCase, ARepairClosesAGap) {
  announce(kDpHigh);
  const CodedBlock block({frame(0), frame(1), frame(2)});
  source(frame(0));
  source(frame(2));
  restorer_.on_repair(block.repair, now_);
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{0, 1, 2}));
}

TEST_F(RestorerCase, ARepairThatLiesIsNotDelivered) {
  announce(kDpHigh);
  CodedBlock block({frame(0), frame(1), frame(2)});
  source(frame(0));
  source(frame(2));
  block.symbol[100] ^= 1;  // in the payload: name and fingerprint still match
  restorer_.on_repair(block.repair, now_);
  EXPECT_EQ(count(Event::kRecoveredBadIcrc), 1U);
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{0}));
  advance(200ms);
}

TEST_F(RestorerCase, ARepairOfTheOldLifeClosesNoGapOfTheNew) {
  announce(kDpHigh);
  const CodedBlock block({frame(5), frame(6), frame(7)});
  source(frame(5));
  source(frame(7));
  announce(kDpHigh, 2, 1);
  source(frame(5, 9));
  source(frame(7, 9));
  delivered();
  restorer_.on_repair(block.repair, now_);
  EXPECT_EQ(count(Event::kRecoveredOldEpoch), 1U);
  EXPECT_TRUE(delivered().empty());
  advance(200ms);
}

TEST_F(RestorerCase, FillsAGapAndReportsItOnceAcknowledged) {
  fillable_message(20);
  source(frame(21));
  advance(5ms);
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{20, 21}));
  EXPECT_TRUE(fills_.take().records.empty());
  answered(21);
  const auto taken = fills_.take();
  ASSERT_EQ(taken.records.size(), 1U);
  EXPECT_EQ(taken.records[0].psn, Psn(20));
  EXPECT_EQ(taken.records[0].offset_bytes, 20 * kPmtu);
  answered(21);
  EXPECT_TRUE(fills_.take().records.empty());
}

TEST_F(RestorerCase, ANakCancelsAFillAndNothingIsFilledUntilTheRewind) {
  fillable_message(20);
  source(frame(21));
  advance(5ms);
  answered(20, roce::kNakPsnSequenceError);
  EXPECT_EQ(count(Event::kFillCancelled), 1U);
  source(frame(23));
  advance(10ms);
  EXPECT_EQ(count(Event::kFilled), 1U) << "22 is not made up while a rewind is expected";
  answered(25);
  EXPECT_TRUE(fills_.take().records.empty());
}

TEST_F(RestorerCase, WhatWasDeliveredIsNotFilledWhenTheSenderGoesBackByItself) {
  fillable_message(50);
  now_ += 100ms;
  for (const std::uint32_t psn : {10U, 11U, 13U})  // sent again with another identification; 12 is lost
    source(frame(psn, 2));
  advance(60ms);
  EXPECT_EQ(count(Event::kFilled), 0U);
  EXPECT_GT(count(Event::kFillRefusedDelivered), 0U);
}

// A gap before PSN 100 that is given up while nothing may be filled; 101 to 103 pass.
class GapGivenUp : public RestorerCase {
 protected:
  void SetUp() override {
    fillable_message(100);
    answered(40, roce::kNakPsnSequenceError);  // no fill until the sender has gone back
    for (std::uint32_t psn = 101; psn < 104; ++psn)
      source(frame(psn));
    advance(restorer_.hold_bound());
    ASSERT_EQ(delivered(), (std::vector<std::uint32_t>{101, 102, 103}));
    ASSERT_EQ(count(Event::kFilled), 0U);
    // The requester had it all along.
    answered(99);
  }
};

TEST_F(GapGivenUp, WhatPassedBehindItIsNotFilledWhenTheMissingOneIsOnlyLate) {
  now_ += 1ms;
  source(frame(100));
  source(frame(105));
  advance(restorer_.hold_bound());
  EXPECT_EQ(count(Event::kFilled), 0U);
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{100, 105}));
}

TEST_F(GapGivenUp, WhatIsLostAmongRetransmissionsIsFilled) {
  now_ += 100ms;
  source(frame(100, 2));
  now_ += 2ms;
  source(frame(102, 2));
  advance(restorer_.hold_bound());
  EXPECT_EQ(count(Event::kFilled), 1U);
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{100, 101, 102}));
}

TEST_F(GapGivenUp, AStragglerOfWhatWasSentBeforeProvesNothing) {
  now_ += 100ms;
  source(frame(100, 2));
  const std::uint64_t refused = count(Event::kFillRefusedNotProven);
  source(frame(150));  // sent before the sender went back
  advance(restorer_.hold_bound());
  EXPECT_EQ(count(Event::kFilled), 0U);
  EXPECT_EQ(count(Event::kFillRefusedNotProven), refused + 1);
}

TEST_F(RestorerCase, ALateOriginalOfAFillIsCounted) {
  fillable_message(20);
  source(frame(21));
  advance(3ms);
  source(frame(20));
  EXPECT_EQ(count(Event::kFilledLateArrival), 1U);
}

TEST_F(RestorerCase, ANewEpochKeepsNothingOfTheOld) {
  fillable_message(20);
  announce(kDpLow, 2, 1);
  source(frame(5, 9));
  source(frame(7, 9));
  // A manifest that was under way still speaks of the old life.
  wire::Manifest manifest;
  manifest.stream = kDpLow;
  manifest.runs.push_back({.flow = 1, .first_psn = Psn(6), .packets = 1});
  restorer_.on_manifest(manifest, now_);
  EXPECT_EQ(count(Event::kManifestUnknownFlow), 1U);
  advance(60ms);
  EXPECT_EQ(count(Event::kFilled), 0U) << "the old life's message says nothing about this one";
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{5, 7}));
}

TEST_F(RestorerCase, ACopyOfAnAcknowledgementIsDeliveredOnce) {
  Bytes bytes = answer(9);
  const auto view = roce::PacketView::parse(bytes);
  const PathHeaders carrier(bytes, *view);
  restorer_.on_ack_copy({.ip_packet = view->ip_packet()}, carrier, now_);
  restorer_.on_ack_copy({.ip_packet = view->ip_packet()}, carrier, now_);
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{9}));
  EXPECT_EQ(count(Event::kAckCopyStale), 1U);
  source(bytes);
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{9})) << "an original is never suppressed";
}

TEST_F(RestorerCase, ACopyOfWhatPassedWithoutASessionIsStale) {
  const Bytes newer = answer(20);
  const FrameId id = pool_.put(newer);
  restorer_.on_passed(id, *roce::PacketView::parse(pool_.bytes(id)), now_);
  for (const std::uint32_t psn : {10U, 20U}) {
    const Bytes original = answer(psn);
    const auto view = *roce::PacketView::parse(original);
    const Bytes body(view.ip_packet().begin(), view.ip_packet().end());
    restorer_.on_ack_copy({.ip_packet = body}, PathHeaders(original, view), now_);
  }
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{20}));
  EXPECT_EQ(count(Event::kAckCopyStale), 2U);
}

TEST_F(RestorerCase, OrderStartsAnewBehindWhatPassedWithoutASession) {
  announce(kDpHigh);
  source(frame(1));
  const FrameId id = pool_.put(frame(2));
  restorer_.on_passed(id, *roce::PacketView::parse(pool_.bytes(id)), now_);
  source(frame(9));
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{1, 2, 9}));
  EXPECT_EQ(count(Event::kHeld), 0U);
}

TEST_F(RestorerCase, ALostPeerLetsEverythingGoInOrder) {
  announce(kDpHigh);
  for (const std::uint32_t psn : {0U, 3U, 2U})
    source(frame(psn));
  restorer_.peer_lost();
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{0, 2, 3}));
  EXPECT_EQ(restorer_.held_frames(), 0U);
}

TEST_F(RestorerCase, AfterAStallWhatWasHeldIsStale) {
  announce(kDpHigh);
  source(frame(0));
  source(frame(2));
  restorer_.drop_stale();
  EXPECT_EQ(delivered(), (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(count(Event::kStaleDropped), 1U);
}

TEST_F(RestorerCase, NothingIsHeldBeyondTheBound) {
  announce(kDpHigh);
  source(frame(0));
  source(frame(2));
  advance(restorer_.hold_bound() - 1ns);
  EXPECT_EQ(restorer_.held_frames(), 1U);
  advance(1ns);
  EXPECT_EQ(restorer_.held_frames(), 0U);
}

TEST_F(RestorerCase, AScarcePoolGetsItsFramesBack) {
  announce(kDpHigh);
  source(frame(0));
  source(frame(2));
  pool_.set_scarce(true);
  restorer_.tick(now_);
  restorer_.tick(now_);
  EXPECT_EQ(pool_.in_use(), 0U);
  EXPECT_EQ(count(Event::kReleasedScarce), 1U);
}

TEST_F(RestorerCase, WhatIsAnnouncedAndForgottenIsToldOnce) {
  announce(kDpHigh);
  announce(kDpHigh);
  std::vector<FlowNotice> told = restorer_.flow_notices().take();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].kind, FlowNotice::Kind::kAnnounced);
  EXPECT_EQ(told[0].key, roce::PacketView::parse(frame(0))->flow_key());
  EXPECT_EQ(told[0].stream, kDpHigh);
  source(frame(0));
  announce(kDpLow, 2, 1);  // another class
  told = restorer_.flow_notices().take();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].stream, kDpLow);
  advance(31s);
  told = restorer_.flow_notices().take();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].kind, FlowNotice::Kind::kForgotten);
}

TEST_F(RestorerCase, AnAnnouncedFlowOfWhichNothingArrivesIsToldAgain) {
  announce(kDpHigh);
  EXPECT_EQ(restorer_.flow_notices().take().size(), 1U);
  advance(900ms);
  EXPECT_TRUE(restorer_.flow_notices().empty());
  advance(200ms);
  EXPECT_EQ(restorer_.flow_notices().take().size(), 1U);
  source(frame(0));
  advance(5s);
  EXPECT_TRUE(restorer_.flow_notices().empty());
}

TEST_F(RestorerCase, NoticesAreBoundedAndToldAgain) {
  for (std::uint32_t i = 0; i < RestorerLimits().flow_notices + 10; ++i) {
    wire::Announcement announcement;
    announcement.flows.push_back(
        {.id = static_cast<wire::FlowId>(i), .epoch = 0, .stream = kDpHigh, .key = {}});
    announcement.flows[0].key.dest_qpn = i;
    restorer_.on_announcement(announcement, {}, now_);
  }
  EXPECT_EQ(count(Event::kFlowNoticeRefused), 10U);
  EXPECT_EQ(restorer_.flow_notices().take().size(), RestorerLimits().flow_notices);
  advance(1500ms);
  EXPECT_FALSE(restorer_.flow_notices().empty());
}

// Until the classifier has learned a flow whose marks the WAN took, its packets go over the bridge.
TEST_F(RestorerCase, WhatPassedByIsNotCountedAsLost) {
  announce(kDpHigh);
  const CodedBlock passed({frame(0), frame(1), frame(2)});
  restorer_.on_repair(passed.repair, now_);
  CodedBlock half({frame(3), frame(4), frame(5), frame(6)});
  half.repair.first_ordinal = 3;
  source(frame(5));
  restorer_.on_repair(half.repair, now_);
  EXPECT_EQ(count(Event::kLostPackets), 1U) << "6 came neither way";
  now_ += 1s;
  CodedBlock later({frame(2), frame(7)});
  later.repair.first_ordinal = 7;
  restorer_.on_repair(later.repair, now_);
  EXPECT_EQ(count(Event::kLostPackets), 3U) << "sent again, and lost";
  advance(1s);
  wire::Feedback feedback;
  restorer_.fill_feedback(feedback, now_);
  EXPECT_EQ(feedback.loss.expected_packets, 9U);
  EXPECT_EQ(feedback.loss.lost_packets, 3U);
  EXPECT_EQ(feedback.loss.undecodable_packets, 3U);
  EXPECT_EQ(delivered(), std::vector<std::uint32_t>{5}) << "nothing that passed by is delivered twice";
}

TEST_F(RestorerCase, AcknowledgementsAndCongestionNotificationsNeverWait) {
  announce(kDpHigh);
  source(frame(0));
  source(frame(2));
  delivered();
  roce::PacketHeaders headers;
  headers.bth.opcode = Opcode::kCnp;
  headers.bth.dest_qpn = kQpn;
  source(roce::build_frame(path(), headers, {}));
  EXPECT_EQ(delivered().size(), 1U);
}

}  // namespace
}  // namespace weft::recovery
