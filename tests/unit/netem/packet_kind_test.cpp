#include "netem/packet_kind.h"

#include <gtest/gtest.h>

#include "agent/roce/builder.h"
#include "agent/roce/view.h"
#include "agent/wire/format.h"
#include "netem/counters.h"
#include "tests/support/site_addresses.h"

namespace weft::netem {
namespace {

using roce::Opcode;

constexpr std::uint16_t kWeftPort = 4793;

roce::PacketPath path(std::uint8_t last_byte = 2) {
  roce::PacketPath path = test::path_from_a_to_b(false);
  path.dst.bytes[3] = last_byte;
  return path;
}

Bytes roce_frame(Opcode opcode, std::uint32_t qpn, std::uint32_t psn,
                 const roce::PacketPath& where = path()) {
  roce::PacketHeaders headers;
  headers.bth.opcode = opcode;
  headers.bth.dest_qpn = qpn;
  headers.bth.psn = roce::Psn(psn);
  const Bytes payload(roce::opcode_info(opcode).carries_payload ? 64 : 0, 0x5a);
  return roce::build_frame(where, headers, payload);
}

Bytes udp_frame(std::uint16_t port, ByteView payload) {
  const roce::PacketPath where = path();
  Bytes frame(roce::kEthernetBytes + roce::kIpv4Bytes + roce::kUdpBytes + payload.size());
  const std::size_t udp = roce::build_lower_headers(frame, where, roce::kUdpBytes + payload.size());
  store_be16(frame.data() + udp + 2, port);
  store_be16(frame.data() + udp + 4, static_cast<std::uint16_t>(roce::kUdpBytes + payload.size()));
  std::copy(payload.begin(), payload.end(),
            frame.begin() + static_cast<std::ptrdiff_t>(udp + roce::kUdpBytes));
  return frame;
}

Bytes weft_frame(wire::PacketType type, std::uint16_t port = kWeftPort) {
  Bytes payload(wire::kEnvelopeBytes);
  store_be32(payload.data(), wire::kMagic);
  payload[4] = wire::kVersion;
  payload[5] = static_cast<std::uint8_t>(type);
  return udp_frame(port, payload);
}

class PacketKinds : public testing::Test {
 protected:
  Classified classify(const Bytes& frame) { return classifier_.classify(frame, IpFrame::locate(frame)); }
  PacketKind kind(const Bytes& frame) { return classify(frame).kind; }
  PacketKind write(std::uint32_t qpn, std::uint32_t psn) {
    return kind(roce_frame(Opcode::kRcRdmaWriteMiddle, qpn, psn));
  }
  Classifier classifier_{kWeftPort};
};

TEST_F(PacketKinds, ThePsnsOfAFlowAreNewOnce) {
  for (std::uint32_t psn = 100; psn < 110; ++psn)
    EXPECT_EQ(write(5, psn), PacketKind::kSource);
  for (std::uint32_t psn = 105; psn < 110; ++psn)
    EXPECT_EQ(write(5, psn), PacketKind::kRetransmit) << "go-back-N";
  EXPECT_EQ(write(5, 110), PacketKind::kSource);
}

TEST_F(PacketKinds, FlowsAreApart) {
  EXPECT_EQ(write(5, 100), PacketKind::kSource);
  EXPECT_EQ(write(6, 100), PacketKind::kSource);
  EXPECT_EQ(kind(roce_frame(Opcode::kRcRdmaWriteMiddle, 5, 100, path(3))), PacketKind::kSource);
}

TEST_F(PacketKinds, PsnsWrap) {
  EXPECT_EQ(write(5, 0xfffffe), PacketKind::kSource);
  EXPECT_EQ(write(5, 0xffffff), PacketKind::kSource);
  EXPECT_EQ(write(5, 0), PacketKind::kSource);
  EXPECT_EQ(write(5, 0xffffff), PacketKind::kRetransmit);
  EXPECT_EQ(write(5, 1), PacketKind::kSource);
}

TEST_F(PacketKinds, AQueuePairUsedAgainStartsAnew) {
  EXPECT_EQ(write(5, 0x700000), PacketKind::kSource);
  EXPECT_EQ(write(5, 0), PacketKind::kSource);
  EXPECT_EQ(write(5, 1), PacketKind::kSource);
  EXPECT_EQ(write(5, 0), PacketKind::kRetransmit);
  EXPECT_EQ(write(5, 0x900000), PacketKind::kSource);
}

TEST_F(PacketKinds, AReadRequestTakesItsResponsesPsns) {
  EXPECT_EQ(kind(roce_frame(Opcode::kRcRdmaReadRequest, 5, 10)), PacketKind::kSource);
  EXPECT_EQ(write(5, 20), PacketKind::kSource);
  EXPECT_EQ(kind(roce_frame(Opcode::kRcRdmaReadRequest, 5, 10)), PacketKind::kRetransmit);
  EXPECT_EQ(kind(roce_frame(Opcode::kRcRdmaReadResponseFirst, 7, 10)), PacketKind::kSource);
  EXPECT_EQ(kind(roce_frame(Opcode::kRcRdmaReadResponseFirst, 7, 10)), PacketKind::kRetransmit);
}

TEST_F(PacketKinds, AcknowledgementsAreNeverResends) {
  for (int i = 0; i < 3; ++i) {
    const Classified ack = classify(roce_frame(Opcode::kRcAcknowledge, 5, 10));
    EXPECT_EQ(ack.kind, PacketKind::kSource);
    EXPECT_EQ(ack.stream, Stream::kRest);
  }
}

TEST_F(PacketKinds, OnlyFirstTransmissionsAreData) {
  const Bytes frame = roce_frame(Opcode::kRcRdmaWriteOnly, 5, 10);
  EXPECT_EQ(classify(frame).stream, Stream::kData);
  EXPECT_EQ(classify(frame).stream, Stream::kRest);
  EXPECT_EQ(classify(weft_frame(wire::PacketType::kRepair)).stream, Stream::kRest);
}

TEST_F(PacketKinds, ASourcePacketIsNamed) {
  const Bytes frame = roce_frame(Opcode::kRcRdmaWriteOnly, 0x1234, 10);
  const auto source = classify(frame).source;
  ASSERT_TRUE(source);
  EXPECT_EQ(source->flow.dest_qpn, 0x1234U);
  EXPECT_EQ(source->psn, roce::Psn(10));
  EXPECT_EQ(source->icrc, roce::PacketView::parse(frame)->icrc_found());
  EXPECT_EQ(source->op, "RC_RDMA_WRITE_ONLY");
}

TEST_F(PacketKinds, WeftPacketsByType) {
  EXPECT_EQ(kind(weft_frame(wire::PacketType::kRepair)), PacketKind::kRepair);
  for (const auto type :
       {wire::PacketType::kHello, wire::PacketType::kFeedback, wire::PacketType::kAnnouncement,
        wire::PacketType::kManifest, wire::PacketType::kAckCopy}) {
    EXPECT_EQ(kind(weft_frame(type)), PacketKind::kControl);
  }
}

TEST_F(PacketKinds, StrangersAreOther) {
  EXPECT_EQ(kind(weft_frame(wire::PacketType::kRepair, kWeftPort + 1)), PacketKind::kOther);
  EXPECT_EQ(kind(udp_frame(kWeftPort, Bytes(100))), PacketKind::kOther);
  EXPECT_EQ(kind(udp_frame(kWeftPort, Bytes{0x57, 0x45, 0x46, 0x54})), PacketKind::kOther);
  EXPECT_EQ(kind(Bytes(60)), PacketKind::kOther);
  EXPECT_EQ(kind(Bytes(14)), PacketKind::kOther);
  Bytes broken = roce_frame(Opcode::kRcRdmaWriteOnly, 5, 10);
  broken.resize(50);
  EXPECT_EQ(kind(broken), PacketKind::kOther);
}

TEST(IpFrame, CountsFromTheIpHeaderWithoutPadding) {
  Bytes frame = roce_frame(Opcode::kRcAcknowledge, 5, 10);
  const std::size_t ip_bytes = frame.size() - roce::kEthernetBytes;
  frame.resize(frame.size() + 18);
  EXPECT_EQ(IpFrame::locate(frame).ip_bytes, ip_bytes);
  EXPECT_EQ(IpFrame::locate(Bytes(14)).ip_bytes, 1U);
  EXPECT_EQ(IpFrame::locate(Bytes(60)).ip_bytes, 46U);
}

TEST(IpFrame, MarkingKeepsTheChecksumAndTheIcrcRight) {
  for (const bool ipv6 : {false, true}) {
    roce::PacketPath where = test::path_from_a_to_b(ipv6);
    where.tos = 26 << 2 | 2;
    where.vlans.count = 1;
    Bytes frame = roce_frame(Opcode::kRcRdmaWriteOnly, 5, 10, where);
    const IpFrame ip = IpFrame::locate(frame);
    ASSERT_TRUE(ip.ect);
    mark_ce(ip, frame);
    const auto marked = roce::PacketView::parse(frame);
    ASSERT_TRUE(marked);
    EXPECT_EQ(marked->tos(), 26 << 2 | 3);
    EXPECT_TRUE(marked->icrc_ok());
    EXPECT_FALSE(IpFrame::locate(frame).ect);
    if (!ipv6) {
      Bytes fixed = frame;
      roce::fix_ipv4_checksum(fixed.data() + ip.l3_offset);
      EXPECT_EQ(fixed, frame);
    }
  }
}

TEST(IpFrame, BleachingTakesTheDscpAndNothingElse) {
  for (const bool ipv6 : {false, true}) {
    roce::PacketPath where = test::path_from_a_to_b(ipv6);
    where.tos = 26 << 2 | 2;
    where.flow_label = ipv6 ? 0xabcde : 0;
    where.vlans.count = 1;
    const Bytes before = roce_frame(Opcode::kRcRdmaWriteOnly, 5, 10, where);
    where.tos = 2;
    Bytes frame = before;
    bleach_dscp(IpFrame::locate(frame), frame);
    EXPECT_EQ(frame, roce_frame(Opcode::kRcRdmaWriteOnly, 5, 10, where));
    EXPECT_NE(frame, before);
  }
}

TEST(IpFrame, OneBitIsFlipped) {
  Bytes frame = roce_frame(Opcode::kRcRdmaWriteOnly, 5, 10);
  const IpFrame ip = IpFrame::locate(frame);
  flip_bit(ip, frame, ip.ip_bytes * 8 - 1);
  EXPECT_FALSE(roce::PacketView::parse(frame)->icrc_ok());
  flip_bit(ip, frame, ip.ip_bytes * 8 - 1);
  EXPECT_TRUE(roce::PacketView::parse(frame)->icrc_ok());
}

TEST(Counters, CountByKindAndMeasureTheLoss) {
  DirectionCounters counters;
  Classified source;
  source.kind = PacketKind::kSource;
  source.stream = Stream::kData;
  Classified repair;
  repair.kind = PacketKind::kRepair;
  const auto fate = [](Fate::Outcome outcome) {
    Fate f;
    f.outcome = outcome;
    return f;
  };
  EXPECT_FALSE(counters.realised_loss());
  EXPECT_FALSE(counters.realised_burst());
  // Two source packets lost in a row with a delivered repair between them are one run.
  counters.count(source, 1000, fate(Fate::Outcome::kLost));
  counters.count(repair, 500, fate(Fate::Outcome::kDelivered));
  counters.count(source, 1000, fate(Fate::Outcome::kLost));
  counters.count(source, 1000, fate(Fate::Outcome::kTailDropped));
  counters.count(source, 1000, fate(Fate::Outcome::kDelivered));
  EXPECT_EQ(counters.kinds[0].packets, 4U);
  EXPECT_EQ(counters.kinds[0].ip_bytes, 4000U);
  EXPECT_EQ(counters.kinds[0].lost_packets, 2U);
  EXPECT_EQ(counters.kinds[0].tail_dropped_packets, 1U);
  EXPECT_EQ(counters.kinds[2].packets, 1U);
  EXPECT_EQ(counters.realised_loss(), 0.4);
  EXPECT_EQ(counters.realised_burst(), 2);
}

}  // namespace
}  // namespace weft::netem
