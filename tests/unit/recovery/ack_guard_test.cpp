#include "agent/recovery/ack_guard.h"

#include <gtest/gtest.h>

#include "tests/support/encoder_rig.h"

namespace weft::recovery {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

class AckGuardTest : public testing::Test {
 protected:
  bool respond(test::WriteFlow& flow, std::uint32_t psn, Time now) {
    return pass(flow.acknowledge(roce::Psn(psn)), now);
  }
  bool pass(const Bytes& frame, Time now) {
    const auto view = roce::PacketView::parse(frame);
    return guard_.on_response(view->flow_key(), *view, PathHeaders(frame, *view), now);
  }
  // PSNs of the copies sent until `end`, in order.
  std::vector<std::uint32_t> copies_until(Time end) {
    std::vector<std::uint32_t> psns;
    while (guard_.next_deadline() && *guard_.next_deadline() <= end) {
      guard_.tick(*guard_.next_deadline(), [&](const PathHeaders&, ByteView packet) {
        psns.push_back(roce::PacketView::parse_ip(packet)->psn().value);
      });
    }
    return psns;
  }

  AckGuard guard_{2};
  test::WriteFlow a_{1};
  test::WriteFlow b_{2};
  test::WriteFlow c_{3};
};

TEST_F(AckGuardTest, ABusyFlowIsNotCopied) {
  Time now = milliseconds(1);
  for (std::uint32_t psn = 0; psn < 100; ++psn, now += microseconds(700)) {
    respond(a_, psn, now);
    EXPECT_TRUE(copies_until(now).empty());
  }
  // The last one, later than four of its gaps, again and again, but not for ever.
  EXPECT_TRUE(copies_until(now + milliseconds(1)).empty());
  EXPECT_EQ(copies_until(now + milliseconds(100)), std::vector<std::uint32_t>(6, 99));
}

TEST_F(AckGuardTest, ReadDataBehindAnAckMakesTheCopyNeedless) {
  respond(a_, 7, milliseconds(1));
  roce::PacketHeaders headers;
  headers.bth.opcode = roce::Opcode::kRcRdmaReadResponseOnly;
  headers.bth.dest_qpn = a_.qpn;
  headers.bth.psn = roce::Psn(8);
  pass(roce::build_frame(a_.path, headers, Bytes(64)), milliseconds(1));
  EXPECT_TRUE(copies_until(milliseconds(100)).empty());
}

TEST_F(AckGuardTest, BeyondTheCapFlowsGiveWayInTurn) {
  EXPECT_TRUE(respond(a_, 1, milliseconds(1)));
  EXPECT_TRUE(respond(b_, 2, milliseconds(1)));
  EXPECT_FALSE(respond(c_, 3, milliseconds(1)));
  EXPECT_EQ(guard_.size(), 2U);
  EXPECT_EQ(copies_until(milliseconds(3)), (std::vector<std::uint32_t>{3, 2}));
}

}  // namespace
}  // namespace weft::recovery
