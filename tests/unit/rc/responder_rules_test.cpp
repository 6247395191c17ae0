// What a responder refuses, packet by packet, as rdma_rxe does: the requests are made by hand.
#include <cctype>

#include <gtest/gtest.h>

#include "tests/support/rc_messages.h"

namespace weft::test {
namespace {

using roce::Opcode;

constexpr std::uint32_t kPmtu = 256;

struct Request {
  Opcode opcode;
  std::uint32_t payload_bytes;
  roce::Reth reth = {kVa, kRkey, 0};
};

struct Case {
  const char* what;
  std::vector<Request> requests;
  std::uint8_t syndrome;  // of the answer to the last one
};

class ResponderRules : public testing::TestWithParam<Case> {};

roce::PacketPath path_to_b() {
  roce::PacketPath path;
  path.src = *roce::IpAddress::parse("10.1.0.2");
  path.dst = *roce::IpAddress::parse("10.2.0.2");
  return path;
}

TEST_P(ResponderRules, AnswersWith) {
  World world({.memory_bytes = 4096});
  world.connect({.pmtu_bytes = kPmtu});
  Bytes receive_buffer(600);
  world.b().post_receive(kQpnB, receive_buffer);
  const Bytes payload(5000, 0x11);
  roce::PacketHeaders headers;
  headers.bth.dest_qpn = kQpnB;
  headers.bth.ack_req = true;
  std::optional<std::uint8_t> answer;
  for (const Request& request : GetParam().requests) {
    headers.bth.opcode = request.opcode;
    headers.reth = request.reth;
    world.b().receive(
        world.now(), roce::build_frame(path_to_b(), headers, ByteView(payload).first(request.payload_bytes)));
    ++headers.bth.psn;
    Bytes out(rc::Host::kLargestFrameBytes);
    while (const std::size_t bytes = world.b().next_frame(world.now(), out)) {
      const auto view = *roce::PacketView::parse(ByteView(out).first(bytes));
      answer = view.aeth() ? std::optional(view.aeth()->syndrome) : std::nullopt;
    }
  }
  ASSERT_TRUE(answer);
  EXPECT_EQ(*answer, GetParam().syndrome);
  const bool refused = GetParam().syndrome >= roce::kNakInvalidRequest;
  EXPECT_EQ(world.b().counters().qp_errors, refused ? 1U : 0U);
  if (!refused) return;
  // Out of service: nothing is answered any more.
  headers.bth.opcode = Opcode::kRcRdmaWriteOnly;
  headers.reth = {kVa, kRkey, 4};
  world.b().receive(world.now(), roce::build_frame(path_to_b(), headers, ByteView(payload).first(4)));
  Bytes out(rc::Host::kLargestFrameBytes);
  EXPECT_EQ(world.b().next_frame(world.now(), out), 0U);
}

const Case cases[] = {
    {"a right WRITE", {{Opcode::kRcRdmaWriteOnly, 100, {kVa, kRkey, 100}}}, roce::kAckUnlimitedCredits},
    {"the end of the region",
     {{Opcode::kRcRdmaWriteOnly, 96, {kVa + 4000, kRkey, 96}}},
     roce::kAckUnlimitedCredits},
    {"zero bytes need no key", {{Opcode::kRcRdmaWriteOnly, 0, {1, 2, 0}}}, roce::kAckUnlimitedCredits},
    {"MIDDLE first", {{Opcode::kRcRdmaWriteMiddle, kPmtu}}, roce::kNakInvalidRequest},
    {"LAST first", {{Opcode::kRcSendLast, 10}}, roce::kNakInvalidRequest},
    {"FIRST twice",
     {{Opcode::kRcRdmaWriteFirst, kPmtu, {kVa, kRkey, 600}},
      {Opcode::kRcRdmaWriteFirst, kPmtu, {kVa, kRkey, 600}}},
     roce::kNakInvalidRequest},
    {"SEND inside a WRITE",
     {{Opcode::kRcRdmaWriteFirst, kPmtu, {kVa, kRkey, 600}}, {Opcode::kRcSendMiddle, kPmtu}},
     roce::kNakInvalidRequest},
    {"READ inside a WRITE",
     {{Opcode::kRcRdmaWriteFirst, kPmtu, {kVa, kRkey, 600}},
      {Opcode::kRcRdmaReadRequest, 0, {kVa, kRkey, 8}}},
     roce::kNakInvalidRequest},
    {"short FIRST", {{Opcode::kRcRdmaWriteFirst, kPmtu - 4, {kVa, kRkey, 600}}}, roce::kNakInvalidRequest},
    {"unpadded MIDDLE length",
     {{Opcode::kRcRdmaWriteFirst, kPmtu, {kVa, kRkey, 600}}, {Opcode::kRcRdmaWriteMiddle, kPmtu - 1}},
     roce::kNakInvalidRequest},
    {"LAST shorter than the RETH leaves",
     {{Opcode::kRcRdmaWriteFirst, kPmtu, {kVa, kRkey, 300}}, {Opcode::kRcRdmaWriteLast, 43}},
     roce::kNakInvalidRequest},
    {"LAST longer than the RETH leaves",
     {{Opcode::kRcRdmaWriteFirst, kPmtu, {kVa, kRkey, 300}}, {Opcode::kRcRdmaWriteLast, 45}},
     roce::kNakInvalidRequest},
    {"LAST a whole packet early",
     {{Opcode::kRcRdmaWriteFirst, kPmtu, {kVa, kRkey, 3 * kPmtu}}, {Opcode::kRcRdmaWriteLast, kPmtu}},
     roce::kNakInvalidRequest},
    {"MIDDLE where LAST is due",
     {{Opcode::kRcRdmaWriteFirst, kPmtu, {kVa, kRkey, 2 * kPmtu}}, {Opcode::kRcRdmaWriteMiddle, kPmtu}},
     roce::kNakInvalidRequest},
    {"empty LAST", {{Opcode::kRcSendFirst, kPmtu}, {Opcode::kRcSendLast, 0}}, roce::kNakInvalidRequest},
    {"ONLY beyond the PMTU", {{Opcode::kRcRdmaWriteOnly, 300, {kVa, kRkey, 300}}}, roce::kNakInvalidRequest},
    {"ONLY shorter than its RETH",
     {{Opcode::kRcRdmaWriteOnly, 99, {kVa, kRkey, 100}}},
     roce::kNakInvalidRequest},
    {"unknown key", {{Opcode::kRcRdmaWriteOnly, 4, {kVa, kRkey + 1, 4}}}, roce::kNakRemoteAccess},
    {"before the region", {{Opcode::kRcRdmaWriteOnly, 4, {kVa - 4, kRkey, 4}}}, roce::kNakRemoteAccess},
    {"past the region", {{Opcode::kRcRdmaWriteOnly, 100, {kVa + 4000, kRkey, 100}}}, roce::kNakRemoteAccess},
    {"a range that wraps",
     {{Opcode::kRcRdmaWriteOnly, 100, {~std::uint64_t{0} - 10, kRkey, 100}}},
     roce::kNakRemoteAccess},
    {"READ past the region", {{Opcode::kRcRdmaReadRequest, 0, {kVa, kRkey, 4097}}}, roce::kNakRemoteAccess},
    {"SEND longer than its buffer",
     {{Opcode::kRcSendFirst, kPmtu}, {Opcode::kRcSendMiddle, kPmtu}, {Opcode::kRcSendLast, 89}},
     roce::kNakInvalidRequest},
    {"a second SEND without a buffer",
     {{Opcode::kRcSendOnly, 10}, {Opcode::kRcSendOnly, 10}},
     roce::kSyndromeRnrNak | 12},
    {"an atomic", {{Opcode::kRcFetchAdd, 0}}, roce::kNakInvalidRequest},
};

std::string name_of(const testing::TestParamInfo<Case>& test) {
  std::string name = test.param.what;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cases, ResponderRules, testing::ValuesIn(cases), name_of);

// A NAK 0x61 or 0x62 ends the requester's queue pair with the matching status.
TEST(RequesterErrors, RemoteAccess) {
  World world({.memory_bytes = 4096});
  world.connect({});
  world.a().post(world.now(), kQpnA, request(world, rc::WorkOp::kWrite, 8192));
  world.a().post(world.now(), kQpnA, request(world, rc::WorkOp::kWrite, 100, 1));
  world.run();
  EXPECT_EQ(world.completions().at(0).status, rc::WorkStatus::kRemoteAccess);
  EXPECT_EQ(world.completions().at(1).status, rc::WorkStatus::kFlushed);
  EXPECT_EQ(world.a().counters().qp_errors, 1U);
  EXPECT_EQ(world.b().counters().error_naks_sent, 1U);
}

}  // namespace
}  // namespace weft::test
