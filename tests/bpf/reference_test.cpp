// Frames cross the agent by reference: the chunk the kernel received a frame into is the chunk it sends it from. Two
// veth pairs in a network namespace of this test's own, the lan program attached, frames from an ordinary packet
// socket.
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "agent/dataplane/port_queue.h"
#include "tests/bpf/private_network.h"
#include "tests/bpf/program_fixture.h"

namespace weft::test {
namespace {

using dataplane::FramePool;
using dataplane::kFillTarget;
using dataplane::PortQueue;
using dataplane::Received;
using dataplane::Umem;
using dataplane::XskSocket;
using recovery::Port;

constexpr std::uint32_t kFrames = 200;
constexpr auto kPatience = std::chrono::seconds(5);

class ReferenceTest : public ProgramFixture {
 protected:
  void SetUp() override {
    if (!enter_private_network()) GTEST_SKIP() << "no network namespaces here";
    ASSERT_NO_FATAL_FAILURE(make_gateway_links(1));
    link_ = open_link("a0");
    ProgramFixture::SetUp();
  }

  void open_ports() {
    auto umem = Umem::allocate(std::size_t{4} * kFillTarget);
    ASSERT_TRUE(umem);
    umem_.emplace(std::move(*umem));
    pool_.emplace(umem_->bytes(), 0);
    auto lan = XskSocket::open({"lan0", 0, true}, *umem_, nullptr);
    ASSERT_TRUE(lan) << lan.error().to_string();
    auto wan = XskSocket::open({"wan0", 0, true}, *umem_, &*lan);
    ASSERT_TRUE(wan) << wan.error().to_string();
    const auto fd = static_cast<std::uint32_t>(lan->fd());
    ASSERT_TRUE(programs_->update(dataplane::MapName::kXsksLan, dataplane::as_bytes(std::uint32_t{0}),
                                  dataplane::as_bytes(fd)));
    // Views of the same rings, which see what passes through the queues.
    received_ = lan->rx();
    completed_ = wan->completion();
    lan_.emplace(std::move(*lan), *pool_);
    wan_.emplace(std::move(*wan), *pool_);
    lan_->refill();
    const Status attached = programs_->attach(Port::kLan, "lan0", dataplane::AttachMode::kNative);
    ASSERT_TRUE(attached) << attached.error().to_string();
  }

  // Forwards what there is; returns the number of frames.
  std::size_t forward() {
    std::array<Received, dataplane::kBatchFrames> batch;
    const auto received = lan_->receive(batch);
    for (const Received& item : received) {
      EXPECT_EQ(item.meta.class_id, kDpHigh);
      wan_->send(item.frame);
    }
    wan_->flush();
    wan_->reclaim();
    lan_->refill();
    return received.size();
  }

  UniqueFd link_;
  std::optional<Umem> umem_;
  std::optional<FramePool> pool_;
  std::optional<PortQueue> lan_;
  std::optional<PortQueue> wan_;
  dataplane::ConsumerRing<xdp_desc> received_;
  dataplane::ConsumerRing<std::uint64_t> completed_;
};

TEST_F(ReferenceTest, AFrameLeavesFromTheAddressItCameTo) {
  ASSERT_NO_FATAL_FAILURE(open_ports());
  std::uint32_t forwarded = 0;
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  for (std::uint32_t i = 0; i < kFrames; ++i) {
    programs_->heartbeats()[0] = UINT64_MAX / 2;  // fresh for ever
    ASSERT_NO_FATAL_FAILURE(send_frame(link_, make_frame({.dscp = 10, .psn = i})));
    forwarded += static_cast<std::uint32_t>(forward());
  }
  while ((forwarded < kFrames || wan_->transmitting()) && std::chrono::steady_clock::now() < give_up) {
    forwarded += static_cast<std::uint32_t>(forward());
    std::this_thread::yield();
  }
  ASSERT_EQ(forwarded, kFrames);
  ASSERT_EQ(completed_.available(kFrames), kFrames);
  for (std::uint32_t i = 0; i < kFrames; ++i) {
    EXPECT_EQ(completed_.peek(i), received_.peek(i).addr) << "frame " << i;
  }
  EXPECT_EQ(lan_->counters().linearised.get(), 0U);
  EXPECT_LE(pool_->chunks() - pool_->free_chunks(), kFillTarget) << "frames did not come back";
}

}  // namespace
}  // namespace weft::test
