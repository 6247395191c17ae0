// Loss of exactly the wrong packet, and what it costs: a round trip where a NAK tells, a timer where nothing does.
#include <gtest/gtest.h>

#include "tests/support/rc_messages.h"

namespace weft::test {
namespace {

using rc::WorkOp;
using rc::WorkStatus;
using std::chrono::milliseconds;

constexpr std::uint32_t kPackets = 40;

class Loss : public testing::Test {
 protected:
  void start(rc::QpConfig config = {}) {
    world.connect(config);
    world.a().post(world.now(), kQpnA, request(world, WorkOp::kWrite, kPackets * 1024));
  }
  void finish() {
    world.run();
    ASSERT_EQ(world.completions().size(), 1U);
    EXPECT_EQ(world.completions()[0].status, WorkStatus::kSuccess);
    ASSERT_EQ(world.arrivals().size(), 1U);
    EXPECT_TRUE(exact(world, world.arrivals()[0].bytes));
  }
  double fct_ms() const {
    return std::chrono::duration<double, std::milli>(world.completions()[0].completed_at).count();
  }
  const rc::Counters& a() { return world.a().counters(); }
  const rc::Counters& b() { return world.b().counters(); }

  World world{{}};
};

TEST_F(Loss, OfTheFirstPacketCostsOneNakAndTheWindow) {
  world.fate = lose(End::kA, {0});
  start();
  finish();
  EXPECT_EQ(b().sequence_naks_sent, 1U);
  EXPECT_EQ(b().out_of_sequence, kPackets - 1);
  EXPECT_EQ(a().retransmitted_packets, kPackets);
  EXPECT_EQ(world.completions()[0].retransmitted_packets, kPackets);
  EXPECT_EQ(world.completions()[0].packets, 2 * kPackets);
  EXPECT_EQ(a().timeouts, 0U);
  EXPECT_NEAR(fct_ms(), 60 + kPackets * 0.0432, 1);  // two round trips and the message
}

TEST_F(Loss, OfTheLastPacketWaitsForTheTimer) {
  world.fate = lose(End::kA, {kPackets - 1});
  start();
  finish();
  EXPECT_EQ(b().sequence_naks_sent, 0U);
  EXPECT_EQ(a().timeouts, 1U);
  EXPECT_EQ(a().timeout_wait, milliseconds(134));
  EXPECT_EQ(world.completions()[0].timeouts, 1U);
  EXPECT_EQ(world.completions()[0].timeout_wait, milliseconds(134));
  EXPECT_EQ(a().retransmitted_packets, kPackets - 32);  // 32 of 40 were acknowledged in time
}

TEST_F(Loss, OfAnAckIsMadeGoodByTheNext) {
  world.fate = lose(End::kB, {0, 1});
  start();
  finish();
  EXPECT_EQ(a().retransmitted_packets, 0U);
  EXPECT_EQ(a().timeouts, 0U);
}

TEST_F(Loss, OfTheLastAckIsAnsweredAgain) {
  world.fate = lose(End::kB, {2});
  start();
  finish();
  EXPECT_EQ(a().timeouts, 1U);
  EXPECT_EQ(b().duplicates, 8U);
  EXPECT_EQ(b().acks_sent, 5U);  // three, and the first and last duplicate
}

TEST_F(Loss, OfTheNakWaitsForTheTimer) {
  world.fate = [](const Sent& sent) {
    const bool lost = (sent.from == End::kA && sent.number == 20) ||
                      (sent.from == End::kB && roce::is_nak(sent.view.aeth()->syndrome));
    return lost ? std::vector<Copy>{} : once(sent);
  };
  start();
  finish();
  EXPECT_EQ(b().sequence_naks_sent, 1U);
  EXPECT_EQ(a().timeouts, 1U);
}

// rdma_rxe's sent_psn_nak: the second loss of one packet draws no second NAK.
TEST_F(Loss, OfThePacketAndItsResendWaitsForTheTimer) {
  world.fate = lose(End::kA, {20, kPackets});  // the resend of PSN 20 is the first frame after the message
  start();
  finish();
  EXPECT_EQ(b().sequence_naks_sent, 1U);
  EXPECT_EQ(a().timeouts, 1U);
}

TEST_F(Loss, OfTwoPacketsInOneWindowDrawsANakForEach) {
  // After the rewind to 5, PSN 9 is lost in the resend: frame kPackets is PSN 5.
  world.fate = lose(End::kA, {5, kPackets + 4});
  start();
  finish();
  EXPECT_EQ(b().sequence_naks_sent, 2U);
  EXPECT_EQ(a().timeouts, 0U);
}

// A NAK is acted on once: a copy of it must not restart the resend.
TEST_F(Loss, ACopiedNakIsIgnored) {
  world.fate = [](const Sent& sent) {
    if (sent.from == End::kA && sent.number == 20) return std::vector<Copy>{};
    std::vector<Copy> copies = once(sent);
    if (sent.from == End::kB && roce::is_nak(sent.view.aeth()->syndrome)) {
      copies.push_back(copies[0]);
      copies[1].extra_delay = milliseconds(1);
    }
    return copies;
  };
  start();
  finish();
  EXPECT_EQ(a().naks_ignored, 1U);
  EXPECT_EQ(a().retransmitted_packets, kPackets - 20);
}

TEST_F(Loss, RetransmissionsKeepPsnAndTakeANewIpId) {
  std::vector<Bytes> copies;
  world.fate = [&](const Sent& sent) {
    if (sent.from == End::kA && sent.view.psn() == roce::Psn(0))
      copies.emplace_back(sent.frame.begin(), sent.frame.end());
    return sent.from == End::kA && sent.number == 0 ? std::vector<Copy>{} : once(sent);
  };
  start();
  finish();
  ASSERT_EQ(copies.size(), 2U);
  const auto first = *roce::PacketView::parse(copies[0]);
  const auto second = *roce::PacketView::parse(copies[1]);
  EXPECT_NE(load_be16(copies[0].data() + first.l3_offset() + 4),
            load_be16(copies[1].data() + second.l3_offset() + 4));
  EXPECT_NE(first.icrc_found(), second.icrc_found());
  EXPECT_TRUE(std::equal(copies[0].begin() + static_cast<std::ptrdiff_t>(first.bth_offset()),
                         copies[0].end() - roce::kIcrcBytes,
                         copies[1].begin() + static_cast<std::ptrdiff_t>(second.bth_offset())));
}

TEST_F(Loss, AcrossThePsnWrap) {
  for (const std::uint64_t lost : {0U, 9U, 10U, 11U, 30U}) {
    World wrapping({});
    wrapping.fate = lose(End::kA, {lost});
    wrapping.connect({.first_psn = roce::Psn(0xfffff6), .peer_first_psn = roce::Psn(0)});
    wrapping.a().post(wrapping.now(), kQpnA, request(wrapping, WorkOp::kWrite, kPackets * 1024));
    wrapping.run();
    ASSERT_EQ(wrapping.completions().size(), 1U);
    EXPECT_TRUE(exact(wrapping, wrapping.arrivals().at(0).bytes));
    EXPECT_EQ(wrapping.a().counters().timeouts, 0U) << lost;
  }
}

TEST_F(Loss, EveryFrameTwiceChangesNothing) {
  world.fate = [](const Sent& sent) {
    std::vector<Copy> copies = once(sent);
    copies.push_back(copies[0]);
    copies[1].extra_delay = std::chrono::microseconds(300);
    return copies;
  };
  start();
  finish();
  EXPECT_EQ(b().duplicates, kPackets);
  EXPECT_EQ(a().retransmitted_packets, 0U);
}

// The late packet closes its gap, but what came before it was dropped: that is the next gap.
TEST_F(Loss, AReorderedPacketCostsTwoNaks) {
  world.fate = [](const Sent& sent) {
    std::vector<Copy> copies = once(sent);
    if (sent.from == End::kA && sent.number == 10) copies[0].extra_delay = milliseconds(1);
    return copies;
  };
  start();
  finish();
  EXPECT_EQ(b().sequence_naks_sent, 2U);
  EXPECT_EQ(a().timeouts, 0U);
}

TEST_F(Loss, OfEverythingExhaustsTheRetriesAndFlushes) {
  world.fate = [](const Sent&) { return std::vector<Copy>{}; };
  start({.retry_count = 2});
  world.a().post(world.now(), kQpnA, request(world, WorkOp::kWrite, 1024, 1));
  world.run();
  ASSERT_EQ(world.completions().size(), 2U);
  EXPECT_EQ(world.completions()[0].status, WorkStatus::kRetryExceeded);
  EXPECT_EQ(world.completions()[1].status, WorkStatus::kFlushed);
  EXPECT_EQ(a().timeouts, 3U);
  EXPECT_EQ(a().retries_exhausted, 1U);
  EXPECT_EQ(a().qp_errors, 1U);
  world.a().post(world.now(), kQpnA, request(world, WorkOp::kWrite, 1024, 2));
  world.run();
  EXPECT_EQ(world.completions().at(2).status, WorkStatus::kFlushed);
}

TEST_F(Loss, ProgressRestoresTheRetries) {
  // The last packet is lost twice; the first resend is answered as far as it got.
  std::uint64_t losses = 0;
  world.fate = [&](const Sent& sent) {
    const bool last = sent.from == End::kA && sent.view.psn() == roce::Psn(kPackets - 1);
    return last && ++losses <= 2 ? std::vector<Copy>{} : once(sent);
  };
  start({.retry_count = 1});
  finish();
  EXPECT_EQ(a().timeouts, 2U);
}

TEST_F(Loss, ReceiverNotReadyWaitsAndResumes) {
  world.connect({});
  world.a().post(world.now(), kQpnA, request(world, WorkOp::kWriteWithImm, kPackets * 1024));
  world.run(milliseconds(70));
  EXPECT_GE(b().rnr_naks_sent, 1U);
  EXPECT_TRUE(world.completions().empty());
  world.b().post_receive(kQpnB, {});
  finish();
  EXPECT_EQ(world.arrivals()[0].imm, 0xabcdU);
  EXPECT_GE(a().rnr_naks_received, 1U);
  EXPECT_EQ(a().timeouts, 0U);
}

TEST_F(Loss, ReceiverNeverReadyExhaustsRnrRetries) {
  world.connect({.rnr_retry = 3});
  world.a().post(world.now(), kQpnA, request(world, WorkOp::kSend, 1024));
  world.run();
  EXPECT_EQ(b().rnr_naks_sent, 4U);
  EXPECT_EQ(world.completions().at(0).status, WorkStatus::kRnrRetryExceeded);
}

}  // namespace
}  // namespace weft::test
