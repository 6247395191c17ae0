// The engine's doors: what belongs to no peer, or to a peer whose agent is not there, goes on as it came.
#include "agent/recovery/engine.h"

#include <gtest/gtest.h>

#include "agent/recovery/fill_log.h"
#include "agent/roce/builder.h"
#include "testbed/sim/frame_pool.h"

namespace weft::recovery {
namespace {

using namespace std::chrono_literals;

class EngineDoors : public testing::Test {
 protected:
  static PeerConfig peer(std::string name, std::string_view prefix, std::uint8_t boot) {
    PeerConfig peer;
    peer.name = std::move(name);
    peer.prefixes = {roce::IpPrefix::parse(std::string(prefix)).value()};
    peer.psk.bytes.fill(0x42);
    peer.own_boot_id.fill(boot);
    return peer;
  }
  static EngineConfig config() {
    EngineConfig config;
    config.peers = {peer("far", "10.2.0.0/16", 1), peer("farther", "10.2.3.0/24", 2)};
    return config;
  }
  static Bytes packet(std::string_view src, std::string_view dst, std::uint32_t psn) {
    roce::PacketPath path;
    path.src = *roce::IpAddress::parse(std::string(src));
    path.dst = *roce::IpAddress::parse(std::string(dst));
    roce::PacketHeaders headers;
    headers.bth.opcode = roce::Opcode::kRcRdmaWriteMiddle;
    headers.bth.dest_qpn = 7;
    headers.bth.psn = roce::Psn(psn);
    return roce::build_frame(path, headers, Bytes(256, 1));
  }
  // A UDP datagram to the agents' port that nobody sealed.
  static Bytes forged_weft(std::string_view src) {
    constexpr std::size_t kUdpBytes = roce::kUdpBytes + wire::kEnvelopeBytes;
    roce::PacketPath path;
    path.src = *roce::IpAddress::parse(std::string(src));
    path.dst = *roce::IpAddress::parse("10.1.0.1");
    Bytes frame(roce::kEthernetBytes + roce::kIpv4Bytes + kUdpBytes);
    const std::size_t udp = roce::build_lower_headers(frame, path, kUdpBytes);
    store_be16(frame.data() + udp + 2, wire::kDefaultUdpPort);
    store_be16(frame.data() + udp + 4, kUdpBytes);
    wire::write_header(
        {.type = wire::PacketType::kRepair, .lane = 0, .lane_count = 1, .boot_id_prefix = 99, .counter = 1},
        MutableByteView(frame).subspan(udp + roce::kUdpBytes));
    return frame;
  }
  void receive(Port port, const Bytes& frame) { engine_.receive(port, pool_.put(frame), {}, 1s); }
  // RoCE and foreign frames sent to this port since the last call; Weft's own are left out.
  std::vector<Bytes> forwarded(Port port) {
    std::vector<Bytes> frames;
    for (const auto& sent : pool_.take_sent(port)) {
      const auto datagram = roce::UdpDatagram::parse(sent.bytes);
      if (!datagram || datagram->destination_port != wire::kDefaultUdpPort) frames.push_back(sent.bytes);
    }
    return frames;
  }

  sim::FramePool pool_;
  FillLog fills_{10};
  Engine engine_{config(), pool_, fills_};
};

TEST_F(EngineDoors, WithoutThePeersAgentBothDirectionsPassInOrder) {
  std::vector<Bytes> out;
  std::vector<Bytes> in;
  for (const std::uint32_t psn : {0U, 1U, 5U, 3U}) {
    out.push_back(packet("10.1.0.1", "10.2.0.1", psn));
    in.push_back(packet("10.2.0.1", "10.1.0.1", psn));
    receive(Port::kLan, out.back());
    receive(Port::kWan, in.back());
  }
  EXPECT_EQ(forwarded(Port::kWan), out);
  EXPECT_EQ(forwarded(Port::kLan), in);
  EXPECT_EQ(engine_.status()[0].counters->total(Event::kPassedNoPeer), in.size());
  EXPECT_EQ(pool_.in_use(), 0U);
}

TEST_F(EngineDoors, TrafficOfNoPeerPasses) {
  const Bytes out = packet("10.1.0.1", "10.9.0.1", 1);
  const Bytes in = packet("10.9.0.1", "10.1.0.1", 1);
  receive(Port::kLan, out);
  receive(Port::kWan, in);
  EXPECT_EQ(forwarded(Port::kWan), std::vector<Bytes>{out});
  EXPECT_EQ(forwarded(Port::kLan), std::vector<Bytes>{in});
  EXPECT_EQ(engine_.stray_counters().total(Event::kPassedNotOurs), 2U);
}

TEST_F(EngineDoors, WhatIsNotRocePasses) {
  const Bytes frame(100, 0x5a);
  for (const Port port : {Port::kLan, Port::kWan}) {
    receive(port, frame);
    EXPECT_EQ(forwarded(opposite(port)), std::vector<Bytes>{frame});
  }
}

TEST_F(EngineDoors, TheLongestPrefixNamesThePeer) {
  receive(Port::kWan, packet("10.2.3.4", "10.1.0.1", 1));
  EXPECT_EQ(engine_.status()[0].counters->total(Event::kPassedNoPeer), 0U);
  EXPECT_EQ(engine_.status()[1].counters->total(Event::kPassedNoPeer), 1U);
}

TEST_F(EngineDoors, WeftPacketsNobodySealedGoNoFurther) {
  receive(Port::kWan, forged_weft("10.2.0.1"));
  receive(Port::kWan, forged_weft("10.9.0.1"));
  EXPECT_TRUE(pool_.take_sent(Port::kLan).empty());
  EXPECT_EQ(engine_.status()[0].counters->total(Event::kWeftUnknownSender), 1U);
  EXPECT_EQ(engine_.stray_counters().total(Event::kWeftUnknownPeer), 1U);
  EXPECT_EQ(pool_.in_use(), 0U);
}

}  // namespace
}  // namespace weft::recovery
