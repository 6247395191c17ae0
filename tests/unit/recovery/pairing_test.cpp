#include "agent/recovery/pairing.h"

#include <gtest/gtest.h>

#include "agent/roce/builder.h"

namespace weft::recovery {
namespace {

using namespace std::chrono_literals;
using roce::Psn;

constexpr std::uint16_t kPort = 0xd000;

class PairingTest : public testing::Test {
 protected:
  RxFlow& request_flow(std::uint32_t qpn, std::uint32_t first_psn = 0) {
    RxFlow* flow = flows_.add(
        {.src = remote_, .dst = local_, .dest_qpn = qpn, .vids = {}, .vlan_count = 0, .response = false});
    pairing_.add_request_flow(*flow);
    delivered(*flow, first_psn);
    return *flow;
  }
  static void delivered(RxFlow& flow, std::uint32_t psn, std::uint32_t read_length_bytes = 0) {
    const auto opcode =
        read_length_bytes != 0 ? roce::Opcode::kRcRdmaReadRequest : roce::Opcode::kRcRdmaWriteMiddle;
    flow.order.arrive({.psn = Psn(psn),
                       .op = &roce::opcode_info(opcode),
                       .read_length_bytes = read_length_bytes,
                       .resent = false},
                      std::nullopt, false, 0ms, {.least = 7ms, .most = 100ms});
  }
  // As the restorer learns it from every packet.
  void came_from_port(RxFlow& flow, std::uint16_t udp_source_port) {
    roce::PacketPath path;
    path.src = remote_;
    path.dst = local_;
    path.udp_source_port = udp_source_port;
    roce::PacketHeaders headers;
    headers.bth.opcode = roce::Opcode::kRcRdmaWriteMiddle;
    const Bytes frame = roce::build_frame(path, headers, Bytes(256, 1));
    flow.path = PathHeaders(frame, *roce::PacketView::parse(frame));
  }
  std::vector<FlowHandle> answer(std::uint32_t qpn, std::uint32_t psn) {
    const auto flows = pairing_.on_response(
        {.src = local_, .dst = remote_, .dest_qpn = qpn, .vids = {}, .vlan_count = 0, .response = true},
        kPort, Psn(psn));
    return {flows.begin(), flows.end()};
  }

  roce::IpAddress local_ = *roce::IpAddress::parse("10.2.0.1");
  roce::IpAddress remote_ = *roce::IpAddress::parse("10.1.0.1");
  RxFlowTable flows_{64};
  Pairing pairing_{flows_};
};

TEST_F(PairingTest, AFlowAloneIsPairedOnceBorneOut) {
  RxFlow& flow = request_flow(1);
  for (std::uint32_t psn = 1; psn <= 3; ++psn) {
    EXPECT_FALSE(pairing_.paired(flow.handle));
    delivered(flow, psn);
    EXPECT_EQ(answer(901, psn), std::vector{flow.handle});
  }
  EXPECT_TRUE(pairing_.paired(flow.handle));
}

TEST_F(PairingTest, TheSameAnswerAgainIsNoEvidence) {
  RxFlow& flow = request_flow(1);
  for (int i = 0; i < 10; ++i)
    answer(901, 0);
  EXPECT_FALSE(pairing_.paired(flow.handle));
}

TEST_F(PairingTest, LockstepStaysAmbiguousUntilTheFlowsDriftApart) {
  RxFlow& one = request_flow(1);
  RxFlow& two = request_flow(2);
  for (std::uint32_t psn = 1; psn < 50; ++psn) {
    delivered(one, psn);
    delivered(two, psn);
    EXPECT_EQ(answer(901, psn).size(), 2U);
    EXPECT_EQ(answer(902, psn).size(), 2U);
  }
  EXPECT_FALSE(pairing_.paired(one.handle));
  // Flow one runs ahead: what 901 acknowledges cannot be flow two's.
  for (std::uint32_t psn = 50; psn < 54; ++psn) {
    delivered(one, psn);
    answer(901, psn);
  }
  EXPECT_TRUE(pairing_.paired(one.handle));
  EXPECT_FALSE(pairing_.paired(two.handle));
  for (std::uint32_t psn = 50; psn < 54; ++psn) {
    delivered(two, psn);
    answer(902, psn);
  }
  EXPECT_TRUE(pairing_.paired(two.handle)) << "the other one is taken";
}

TEST_F(PairingTest, AContradictedPairIsDissolved) {
  RxFlow& flow = request_flow(1);
  for (std::uint32_t psn = 1; psn <= 3; ++psn) {
    delivered(flow, psn);
    answer(901, psn);
  }
  ASSERT_TRUE(pairing_.paired(flow.handle));
  EXPECT_TRUE(answer(901, 500).empty()) << "never delivered to this responder";
  EXPECT_FALSE(pairing_.paired(flow.handle));
}

TEST_F(PairingTest, AFlowThatEndsFreesItsPartner) {
  RxFlow& flow = request_flow(1);
  for (std::uint32_t psn = 1; psn <= 3; ++psn) {
    delivered(flow, psn);
    answer(901, psn);
  }
  const FlowHandle gone = flow.handle;
  pairing_.remove_request_flow(flow);
  flows_.remove(flow);
  EXPECT_FALSE(pairing_.paired(gone));
  EXPECT_TRUE(answer(901, 3).empty());
}

TEST_F(PairingTest, BehindAReadOfUnknownExtentNothingIsBorneOut) {
  RxFlow& flow = request_flow(1);
  delivered(flow, 1, 1 << 20);
  for (std::uint32_t psn = 100; psn < 110; ++psn)
    EXPECT_EQ(answer(901, psn), std::vector{flow.handle}) << "it may be this one's";
  EXPECT_FALSE(pairing_.paired(flow.handle));
}

TEST_F(PairingTest, AFlowOfAnotherPortIsNoCandidateWhereOneHasTheAnswersPort) {
  RxFlow& right = request_flow(1);
  RxFlow& wrong = request_flow(2);
  came_from_port(right, kPort);
  came_from_port(wrong, kPort + 1);
  for (std::uint32_t psn = 1; psn < 50; ++psn)
    delivered(wrong, psn);
  // The right one's packets have not been seen yet, since this agent has just started.
  for (std::uint32_t psn = 10; psn < 20; ++psn)
    EXPECT_TRUE(answer(901, psn).empty());
  EXPECT_FALSE(pairing_.paired(wrong.handle));
}

}  // namespace
}  // namespace weft::recovery
