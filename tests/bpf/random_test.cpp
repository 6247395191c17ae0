// Random frames, whole, cut and damaged. Whatever comes, the programs pass it or take it, leave its bytes
// alone, and count it once; and what they call RoCE, the packet view in user space calls RoCE too.
#include <gtest/gtest.h>
#include <linux/bpf.h>

#include "agent/roce/view.h"
#include "tests/bpf/program_fixture.h"
#include "tests/support/random_packet.h"
#include "tests/support/seed.h"

namespace weft::test {
namespace {

using recovery::Port;

constexpr int kRounds = 1000;
constexpr std::size_t kLargestPayload = 2048;
constexpr std::size_t kSmallestTestRun = 14;  // the kernel refuses less than an Ethernet header

class RandomTest : public ProgramFixture {
 protected:
  // Every address is a peer's and every DSCP has a class, so that nothing but the parser can say no.
  void SetUp() override {
    ProgramFixture::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    tables_.peers = {{*roce::IpPrefix::parse("0.0.0.0/0"), 0}, {*roce::IpPrefix::parse("::/0"), 0}};
    tables_.dscp.fill(recovery::Tag{.class_id = kDpHigh});
    ASSERT_TRUE(classifier_->apply(tables_, recovery::PolicyTable::defaults()));
  }

  void check(ByteView frame) {
    const RunResult result = run(Port::kLan, frame);
    ASSERT_TRUE(result.action == XDP_PASS || result.action == XDP_REDIRECT);
    ASSERT_EQ(result.frame, Bytes(frame.begin(), frame.end()));
    ASSERT_EQ(result.counted.size(), 1U);
    ASSERT_EQ(result.counted.begin()->second, 1U);
    ASSERT_EQ(result.meta.has_value(), result.action == XDP_REDIRECT);
    if (result.action != XDP_REDIRECT) return;
    ++taken_;
    ASSERT_TRUE(roce::PacketView::parse(frame)) << "taken, but the view refuses it";
    const auto view = roce::PacketView::parse(frame);
    ASSERT_EQ(result.meta->l3_offset, view->l3_offset());
    ASSERT_EQ(result.meta->frame_bytes, frame.size());
    ASSERT_TRUE(classifier_->forget_idle(recovery::Time(INT64_MAX)));
  }

  int taken_ = 0;
};

TEST_F(RandomTest, WholeCutAndDamagedFrames) {
  Rng random = rng(0xbf);
  for (int round = 0; round < kRounds; ++round) {
    Bytes frame = random_packet(random, kLargestPayload).frame();
    switch (random.below(3)) {
      case 0:
        break;
      case 1:
        frame.resize(random.between(kSmallestTestRun, frame.size()));
        break;
      default:
        for (std::uint64_t flips = random.between(1, 4); flips > 0; --flips) {
          const std::size_t headers = std::min<std::size_t>(frame.size(), 100);
          frame[random.below(headers)] ^= static_cast<std::uint8_t>(1U << random.below(8));
        }
    }
    ASSERT_NO_FATAL_FAILURE(check(frame)) << "round " << round;
  }
  EXPECT_GT(taken_, kRounds / 10);
}

}  // namespace
}  // namespace weft::test
