#include "agent/recovery/pairing.h"

#include <gtest/gtest.h>

namespace weft::recovery {
namespace {

using namespace std::chrono_literals;
using roce::Psn;

class PairingTest : public testing::Test {
 protected:
  RxFlow& request_flow(std::uint32_t qpn, std::uint32_t first_psn = 0) {
    RxFlow* flow = flows_.add(
        {.src = remote_, .dst = local_, .dest_qpn = qpn, .vids = {}, .vlan_count = 0, .response = false});
    pairing_.add_request_flow(*flow);
    delivered(*flow, first_psn);
    return *flow;
  }
  static void delivered(RxFlow& flow, std::uint32_t psn) {
    flow.order.arrive({.psn = Psn(psn),
                       .op = &roce::opcode_info(roce::Opcode::kRcRdmaWriteMiddle),
                       .read_length_bytes = 0,
                       .resent = false},
                      std::nullopt, false, 0ms, {.least = 7ms, .most = 100ms});
  }
  std::vector<FlowHandle> answer(std::uint32_t qpn, std::uint32_t psn) {
    const auto flows = pairing_.on_response(
        {.src = local_, .dst = remote_, .dest_qpn = qpn, .vids = {}, .vlan_count = 0, .response = true},
        0xd000, Psn(psn));
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

}  // namespace
}  // namespace weft::recovery
