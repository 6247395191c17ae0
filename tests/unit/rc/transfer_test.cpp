// What an undisturbed transfer does: every operation, size, PMTU and address family.
#include <set>

#include <gtest/gtest.h>

#include "tests/support/rc_messages.h"

namespace weft::test {
namespace {

using rc::WorkOp;
using rc::WorkStatus;
using std::chrono::microseconds;
using std::chrono::milliseconds;

class Transfer : public testing::TestWithParam<std::tuple<std::uint32_t, bool>> {};

TEST_P(Transfer, EverySizeAndOperationArrivesExactly) {
  const auto [pmtu, ipv6] = GetParam();
  World world({.ipv6 = ipv6});
  Bytes receive_buffer(64 << 10, rc::kPoison);
  world.connect({.pmtu_bytes = pmtu});
  world.on_arrival = [&](const rc::Arrival& arrival) {
    EXPECT_TRUE(exact(world, arrival.bytes, arrival.message));
  };
  std::uint64_t number = 0;
  std::vector<std::uint32_t> sizes;
  for (const WorkOp op : {WorkOp::kWrite, WorkOp::kWriteWithImm, WorkOp::kSend, WorkOp::kSendWithImm}) {
    for (const std::uint32_t bytes : {0U, 1U, pmtu - 1, pmtu, pmtu + 1, 2 * pmtu, 3 * pmtu + 2}) {
      world.b().post_receive(kQpnB, receive_buffer);
      world.a().post(world.now(), kQpnA, request(world, op, bytes, number++));
      sizes.push_back(bytes);
    }
  }
  world.run();
  ASSERT_EQ(world.completions().size(), number);
  ASSERT_EQ(world.arrivals().size(), number);
  for (std::uint64_t i = 0; i < number; ++i) {
    EXPECT_EQ(world.completions()[i].status, WorkStatus::kSuccess);
    EXPECT_EQ(world.completions()[i].id, i);
    EXPECT_EQ(world.arrivals()[i].bytes.size(), sizes[i]);
  }
  EXPECT_EQ(world.a().counters().retransmitted_packets, 0U);
  EXPECT_EQ(world.b().counters().qp_errors, 0U);
}

TEST_P(Transfer, ReadsReturnWhatMemoryHolds) {
  const auto [pmtu, ipv6] = GetParam();
  World world({.ipv6 = ipv6});
  world.connect({.pmtu_bytes = pmtu});
  std::uint64_t number = 0;
  std::vector<Bytes> sinks;
  world.on_read = [&](const rc::ReadRequested& read) {
    rc::write_payload(world.pattern().message(kQpnB, read.message), read.bytes);
  };
  for (const std::uint32_t bytes : {0U, 1U, pmtu, pmtu + 1, 5 * pmtu + 3})
    sinks.emplace_back(bytes, rc::kPoison);
  for (Bytes& sink : sinks) {
    rc::WorkRequest work =
        request(world, WorkOp::kRead, static_cast<std::uint32_t>(sink.size()), number, kVa + (number << 16));
    ++number;
    work.sink = sink;
    world.a().post(world.now(), kQpnA, work);
  }
  world.run();
  ASSERT_EQ(world.completions().size(), number);
  for (std::uint64_t i = 0; i < number; ++i) {
    EXPECT_EQ(world.completions()[i].status, WorkStatus::kSuccess);
    EXPECT_TRUE(exact(world, sinks[i], i));
  }
  EXPECT_EQ(world.b().counters().read_responses_resent, 0U);
}

INSTANTIATE_TEST_SUITE_P(Pmtus, Transfer,
                         testing::Combine(testing::Values(256U, 512U, 1024U, 2048U, 4096U), testing::Bool()));

TEST(Acknowledging, EverySixteenPacketsAndAtMessageEnd) {
  World world({});
  world.connect({});
  std::vector<std::pair<std::uint32_t, std::uint32_t>> acks;  // PSN, MSN
  world.fate = [&](const Sent& sent) {
    if (sent.from == End::kB) acks.emplace_back(sent.view.psn().value, sent.view.aeth()->msn);
    return once(sent);
  };
  world.a().post(world.now(), kQpnA, request(world, WorkOp::kWrite, 40 * 1024, 0));
  world.a().post(world.now(), kQpnA, request(world, WorkOp::kWrite, 3 * 1024, 1));
  world.run();
  using Ack = std::pair<std::uint32_t, std::uint32_t>;
  EXPECT_EQ(acks, (std::vector<Ack>{{15, 0}, {31, 0}, {39, 1}, {42, 2}}));
}

TEST(Acknowledging, ASmallWindowNeverStalls) {
  World world({});
  world.connect({.window_packets = 3});
  world.a().post(world.now(), kQpnA, request(world, WorkOp::kWrite, 50 * 1024));
  world.run();
  ASSERT_EQ(world.completions().size(), 1U);
  EXPECT_EQ(world.a().counters().timeouts, 0U);
  EXPECT_LT(world.now(), milliseconds(17 * 31 + 10));
}

TEST(Pacing, FramesLeaveAtTheRateAndQueuePairsTakeTurns) {
  World world({});
  world.connect({}, kQpnA, kQpnB);
  world.connect({}, kQpnA + 1, kQpnB + 1);
  std::vector<std::uint32_t> order;
  world.fate = [&](const Sent& sent) {
    if (sent.from == End::kA) order.push_back(sent.view.dest_qpn());
    return once(sent);
  };
  for (const std::uint32_t qpn : {kQpnA, kQpnA + 1})
    world.a().post(world.now(), qpn, request(world, WorkOp::kWrite, 100 * 1024));
  world.run();
  ASSERT_EQ(order.size(), 200U);
  for (std::size_t i = 2; i < order.size(); ++i)
    EXPECT_EQ(order[i], order[i - 2]);
  // 200 packets of about 1068 bytes at 200 Mbit/s, and a round trip.
  const double expected_ms = (198 * 1068 + 2 * 1084) * 8 / 200e6 * 1e3 + 30;
  const std::chrono::duration<double, std::milli> finished = world.completions().back().completed_at;
  EXPECT_NEAR(finished.count(), expected_ms, 0.5);
}

TEST(Pacing, APacerThatWakesLateCatchesUpWithinItsLimit) {
  rc::Pacer pacer(8'000'000'000, microseconds(2));  // one byte a nanosecond
  pacer.sent(microseconds(100), 1000);
  EXPECT_EQ(pacer.ready_at(), microseconds(99));  // 2 us back, 1 us forward
  pacer.sent(microseconds(100), 1000);
  EXPECT_EQ(pacer.ready_at(), microseconds(100));
}

TEST(Frames, WrongIcrcIsDroppedAndCounted) {
  World world({});
  world.connect({});
  world.fate = [&](const Sent& sent) {
    std::vector<Copy> copies = once(sent);
    if (sent.from == End::kA && sent.number == 3) copies[0].frame[sent.view.payload_offset()] ^= 1;
    return copies;
  };
  world.a().post(world.now(), kQpnA, request(world, WorkOp::kWrite, 10 * 1024));
  world.run();
  EXPECT_EQ(world.b().counters().icrc_errors, 1U);
  EXPECT_EQ(world.completions().at(0).status, WorkStatus::kSuccess);
  EXPECT_TRUE(exact(world, world.arrivals().at(0).bytes));
}

TEST(Frames, StrangersAreCountedAndLeftAlone) {
  World world({});
  world.connect({});
  world.b().receive(world.now(), Bytes(60, 0));  // not IP
  roce::PacketPath path;
  path.src = *roce::IpAddress::parse("10.9.9.9");  // not the peer's address
  path.dst = *roce::IpAddress::parse("10.2.0.2");
  roce::PacketHeaders headers;
  headers.bth.dest_qpn = kQpnB;
  headers.bth.opcode = roce::Opcode::kRcSendOnly;
  world.b().receive(world.now(), roce::build_frame(path, headers, {}));
  EXPECT_EQ(world.b().counters().not_ours, 2U);
  EXPECT_EQ(world.b().counters().frames_received, 2U);
  Bytes out(rc::Host::kLargestFrameBytes);
  EXPECT_EQ(world.b().next_frame(world.now(), out), 0U);
}

}  // namespace
}  // namespace weft::test
