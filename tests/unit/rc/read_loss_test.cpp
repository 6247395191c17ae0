// READ under loss: lost requests and responses, replay of part of a READ, order with WRITEs around it.
#include <gtest/gtest.h>

#include "tests/support/rc_messages.h"

namespace weft::test {
namespace {

using rc::WorkOp;
using rc::WorkStatus;

constexpr std::uint32_t kPackets = 20;

class ReadLoss : public testing::Test {
 protected:
  // WRITE, READ, WRITE: PSNs 0, 1..20, 21.
  void run() {
    world.connect({});
    world.on_read = [this](const rc::ReadRequested& read) {
      rc::write_payload(world.pattern().message(kQpnB, read.message), read.bytes);
    };
    world.a().post(world.now(), kQpnA, request(world, WorkOp::kWrite, 1024, 0));
    rc::WorkRequest read = request(world, WorkOp::kRead, kPackets * 1024 - 5, 1, kVa + 65536);
    read.sink = sink;
    world.a().post(world.now(), kQpnA, read);
    world.a().post(world.now(), kQpnA, request(world, WorkOp::kWrite, 1024, 2, kVa + 4096));
    world.run();
    ASSERT_EQ(world.completions().size(), 3U);
    for (std::uint64_t i = 0; i < 3; ++i) {
      EXPECT_EQ(world.completions()[i].status, WorkStatus::kSuccess);
      EXPECT_EQ(world.completions()[i].id, i);
    }
    EXPECT_TRUE(exact(world, sink, 1));
    ASSERT_EQ(world.arrivals().size(), 2U);
    EXPECT_TRUE(exact(world, world.arrivals()[0].bytes, 0));
    EXPECT_TRUE(exact(world, world.arrivals()[1].bytes, 2));
  }
  const rc::Counters& a() { return world.a().counters(); }
  const rc::Counters& b() { return world.b().counters(); }

  World world{{}};
  Bytes sink = Bytes(kPackets * 1024 - 5, rc::kPoison);
};

TEST_F(ReadLoss, NothingLost) {
  run();
  EXPECT_EQ(a().retransmitted_packets, 0U);
}

TEST_F(ReadLoss, OfTheRequestDrawsANak) {
  world.fate = lose(End::kA, {1});
  run();
  EXPECT_EQ(b().sequence_naks_sent, 1U);
  EXPECT_EQ(a().timeouts, 0U);
}

// Responses: frame 0 acknowledges the first WRITE or is replaced by the READ's data; then PSNs 1..20.
class EachResponse : public ReadLoss, public testing::WithParamInterface<std::uint32_t> {};

TEST_P(EachResponse, LostIsAskedForAgainFromThere) {
  const roce::Psn lost(GetParam());
  bool dropped = false;
  world.fate = [&](const Sent& sent) {
    if (sent.from == End::kB && sent.view.psn() == lost && !dropped) {
      dropped = true;
      return std::vector<Copy>{};
    }
    return once(sent);
  };
  run();
  EXPECT_TRUE(dropped);
  EXPECT_EQ(a().implied_naks > 0, true);
  EXPECT_EQ(b().read_responses_resent, kPackets + 1 - GetParam());
  EXPECT_EQ(a().timeouts, 0U);
}

INSTANTIATE_TEST_SUITE_P(Psns, EachResponse, testing::Range(1U, kPackets + 1));

TEST_F(ReadLoss, OfAllResponsesOnceWaitsForTheTimer) {
  world.fate = [&](const Sent& sent) {
    return sent.from == End::kB && sent.number < kPackets + 2 ? std::vector<Copy>{} : once(sent);
  };
  run();
  EXPECT_EQ(a().timeouts, 1U);
}

}  // namespace
}  // namespace weft::test
