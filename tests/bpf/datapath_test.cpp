// The whole data path over two receive queues: a worker for each on one UMEM, every flow in order, and a stop that
// leaves the bridge to go on.
#include "agent/dataplane/datapath.h"

#include <chrono>
#include <map>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "agent/roce/view.h"
#include "tests/bpf/private_network.h"
#include "tests/bpf/program_fixture.h"

namespace weft::test {
namespace {

using dataplane::Datapath;
using recovery::Port;

constexpr unsigned kQueues = 2;
constexpr std::uint32_t kFlows = 16;
constexpr std::uint32_t kFramesPerFlow = 50;
constexpr auto kPatience = std::chrono::seconds(5);

class DatapathTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!enter_private_network()) GTEST_SKIP() << "no network namespaces here";
    ASSERT_NO_FATAL_FAILURE(make_gateway_links(kQueues));
    a0_ = open_link("a0");
    b0_ = open_link("b0");
    tables_.udp_port = kWeftPort;
    tables_.peers = {{*roce::IpPrefix::parse("10.2.0.0/16"), kPeerIndex}};
    tables_.dscp[10] = recovery::Tag{.class_id = kDpHigh};
  }

  std::unique_ptr<Datapath> start() {
    auto datapath =
        Datapath::start({.lan = {"lan0"}, .wan = {"wan0"}, .hold_bytes = 1 << 20, .cpus = {}},
                        dataplane::Features::probe(), tables_, recovery::PolicyTable::defaults(),
                        [](recovery::FrameIo& io) { return std::make_unique<dataplane::Forwarder>(io); });
    if (!datapath) ADD_FAILURE() << datapath.error().to_string();
    return datapath ? std::move(*datapath) : nullptr;
  }

  // Sends one round of frames, one of each flow; flows differ in QPN and UDP source port.
  void send_round(std::uint32_t psn) {
    for (std::uint32_t flow = 0; flow < kFlows; ++flow) {
      const auto port = static_cast<std::uint16_t>(0xc000 + flow);
      send_frame(a0_, make_frame({.dscp = 10, .psn = psn, .qpn = flow, .udp_source_port = port}));
    }
  }

  // The PSNs that arrived, by flow, after waiting for `frames` of them.
  std::map<std::uint32_t, std::vector<std::uint32_t>> arrivals(std::size_t frames) {
    std::map<std::uint32_t, std::vector<std::uint32_t>> by_flow;
    Bytes buffer(2048);
    const auto give_up = std::chrono::steady_clock::now() + kPatience;
    for (std::size_t seen = 0; seen < frames && std::chrono::steady_clock::now() < give_up;) {
      const ssize_t size = ::recv(b0_.get(), buffer.data(), buffer.size(), 0);
      if (size < 0) {
        std::this_thread::yield();
        continue;
      }
      const auto view = roce::PacketView::parse(ByteView(buffer).first(static_cast<std::size_t>(size)));
      if (!view) continue;
      by_flow[view->dest_qpn()].push_back(view->psn().value);
      ++seen;
    }
    return by_flow;
  }

  void expect_all_in_order(std::uint32_t first_psn) {
    std::vector<std::uint32_t> expected(kFramesPerFlow);
    std::iota(expected.begin(), expected.end(), first_psn);
    const auto by_flow = arrivals(std::size_t{kFlows} * kFramesPerFlow);
    EXPECT_EQ(by_flow.size(), kFlows);
    for (const auto& [flow, psns] : by_flow) {
      EXPECT_EQ(psns, expected) << "flow " << flow;
    }
  }

  UniqueFd a0_;
  UniqueFd b0_;
  dataplane::ClassifierTables tables_;
};

TEST_F(DatapathTest, TwoQueuesForwardEveryFlowInOrder) {
  const auto datapath = start();
  ASSERT_TRUE(datapath);
  for (std::uint32_t psn = 0; psn < kFramesPerFlow; ++psn) {
    ASSERT_NO_FATAL_FAILURE(send_round(psn));
  }
  expect_all_in_order(0);
  const auto statistics = datapath->statistics();
  ASSERT_TRUE(statistics);
  std::uint64_t received = 0;
  for (const dataplane::QueueStatistics& queue : *statistics) {
    if (queue.port != Port::kLan) continue;
    EXPECT_GT(queue.agent->received.get(), 0U) << "queue " << queue.queue;
    received += queue.agent->received.get();
  }
  EXPECT_EQ(received, std::uint64_t{kFlows} * kFramesPerFlow);
}

TEST_F(DatapathTest, AStoppedDatapathLeavesTheBridgeAndStartsAgain) {
  auto datapath = start();
  ASSERT_TRUE(datapath);
  datapath.reset();
  for (std::uint32_t psn = 0; psn < kFramesPerFlow; ++psn) {
    ASSERT_NO_FATAL_FAILURE(send_round(psn));
  }
  expect_all_in_order(0);
  datapath = start();  // the queues may still be in their last users' hands
  ASSERT_TRUE(datapath);
  for (std::uint32_t psn = 0; psn < kFramesPerFlow; ++psn) {
    ASSERT_NO_FATAL_FAILURE(send_round(psn));
  }
  expect_all_in_order(0);
}

TEST_F(DatapathTest, AShedFlowGoesToTheBridgeInOrder) {
  const auto datapath = start();
  ASSERT_TRUE(datapath);
  constexpr std::uint32_t kHalf = kFramesPerFlow / 2;
  for (std::uint32_t psn = 0; psn < kHalf; ++psn) {
    ASSERT_NO_FATAL_FAILURE(send_round(psn));
  }
  const auto newest = datapath->classifier().newest_flow();
  ASSERT_TRUE(newest && *newest);
  ASSERT_TRUE(datapath->hand_over([&] { return datapath->classifier().shed_flow(**newest); }));
  for (std::uint32_t psn = kHalf; psn < kFramesPerFlow; ++psn) {
    ASSERT_NO_FATAL_FAILURE(send_round(psn));
  }
  expect_all_in_order(0);
  const auto counters = datapath->classifier().counters();
  ASSERT_TRUE(counters);
  const auto shed = std::ranges::find(*counters, WEFT_PASS_SHED, &dataplane::CounterValue::cause);
  ASSERT_NE(shed, counters->end());
  EXPECT_EQ(shed->packets, kHalf);
}

}  // namespace
}  // namespace weft::test
