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
  // A datagram to the agents' port.
  static Bytes weft_frame(std::string_view src, ByteView payload) {
    roce::PacketPath path;
    path.src = *roce::IpAddress::parse(std::string(src));
    path.dst = *roce::IpAddress::parse("10.1.0.1");
    const std::size_t udp_bytes = roce::kUdpBytes + payload.size();
    Bytes frame(roce::kEthernetBytes + roce::kIpv4Bytes + udp_bytes);
    const std::size_t udp = roce::build_lower_headers(frame, path, udp_bytes);
    store_be16(frame.data() + udp + 2, wire::kDefaultUdpPort);
    store_be16(frame.data() + udp + 4, static_cast<std::uint16_t>(udp_bytes));
    std::ranges::copy(payload, frame.begin() + static_cast<std::ptrdiff_t>(udp + roce::kUdpBytes));
    return frame;
  }
  void receive(Port port, const Bytes& frame) { engine_.receive(port, pool_.put(frame), {}, now_); }
  // RoCE and foreign frames sent to this port since the last call; Weft's own are left out.
  std::vector<Bytes> forwarded(Port port) {
    std::vector<Bytes> frames;
    for (const auto& sent : pool_.take_sent(port)) {
      const auto datagram = roce::UdpDatagram::parse(sent.bytes);
      if (!datagram || datagram->destination_port != wire::kDefaultUdpPort) frames.push_back(sent.bytes);
    }
    return frames;
  }

  Time now_{1s};
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
  Bytes forged(wire::kEnvelopeBytes);
  wire::write_header(
      {.type = wire::PacketType::kRepair, .lane = 0, .lane_count = 1, .boot_id_prefix = 99, .counter = 1},
      forged);
  receive(Port::kWan, weft_frame("10.2.0.1", forged));
  receive(Port::kWan, weft_frame("10.9.0.1", forged));
  EXPECT_TRUE(pool_.take_sent(Port::kLan).empty());
  EXPECT_EQ(engine_.status()[0].counters->total(Event::kWeftUnknownSender), 1U);
  EXPECT_EQ(engine_.stray_counters().total(Event::kWeftUnknownPeer), 1U);
  EXPECT_EQ(pool_.in_use(), 0U);
}

// The agent of the peer `far`, as far as the session goes, at the other end of a WAN without delay.
class EngineWithPeer : public EngineDoors {
 protected:
  EngineWithPeer() {
    for (int round = 0; round < 20 && !engine_.status()[0].ready; ++round) {
      now_ += 50ms;
      receive(Port::kLan, packet("10.1.0.1", "10.2.0.1", 0));
      engine_.tick(now_);
      for (const auto& sent : pool_.take_sent(Port::kWan)) {
        const auto datagram = roce::UdpDatagram::parse(sent.bytes);
        if (datagram && datagram->destination_port == wire::kDefaultUdpPort)
          (void)far_.open(datagram->payload, now_);
      }
      far_.on_data(now_);
      if (far_.hello_due(now_)) arrives(sealed(wire::PacketType::kHello, far_.next_hello(now_)));
      if (far_.feedback_due(now_)) arrives(sealed(wire::PacketType::kFeedback, far_.next_feedback(now_)));
    }
    EXPECT_TRUE(engine_.status()[0].ready);
  }

  template <class Message>
  Bytes sealed(wire::PacketType type, const Message& message) {
    Bytes packet(wire::kEnvelopeBytes + wire::body_bytes(message));
    wire::encode(message, MutableByteView(packet).subspan(wire::kHeaderBytes, wire::body_bytes(message)));
    EXPECT_TRUE(far_.seal(type, packet));
    return packet;
  }
  Bytes announcement(std::string_view src) {
    const Bytes frame = packet(src, "10.1.0.1", 1);
    wire::Announcement announcement;
    announcement.flows.push_back(
        {.id = 1, .epoch = 0, .stream = {1, 0}, .key = roce::PacketView::parse(frame)->flow_key()});
    return sealed(wire::PacketType::kAnnouncement, announcement);
  }
  void arrives(const Bytes& packet) { receive(Port::kWan, weft_frame("10.2.0.1", packet)); }
  std::uint64_t count(Event event) const { return engine_.status()[0].counters->total(event); }

  wire::PeerSession far_{{.psk = config().peers[0].psk, .own_boot_id = {7}, .mtu_bytes = 1500}};
};

TEST_F(EngineWithPeer, SpeaksForItsOwnFlowsOnly) {
  arrives(announcement("10.2.3.1"));  // of the peer `farther`
  EXPECT_EQ(count(Event::kAnnouncementForeign), 1U);
  EXPECT_EQ(engine_.take_flow_notices().size(), 0U);
  arrives(announcement("10.2.0.1"));
  EXPECT_EQ(count(Event::kAnnouncementForeign), 1U);
  EXPECT_EQ(engine_.take_flow_notices().size(), 1U);
}

TEST_F(EngineWithPeer, IsHeardOnceAndOnlyAsItSpoke) {
  const Bytes packet = announcement("10.2.0.1");
  Bytes damaged = packet;
  damaged[wire::kHeaderBytes + 1] ^= 1;
  arrives(damaged);
  EXPECT_EQ(count(Event::kWeftBadTag), 1U);
  EXPECT_EQ(engine_.take_peer_changes().size(), 1U) << "that it is up";
  EXPECT_FALSE(engine_.has_news());
  arrives(packet);
  EXPECT_TRUE(engine_.has_news());
  EXPECT_EQ(engine_.take_flow_notices().size(), 1U);
  arrives(packet);
  EXPECT_EQ(count(Event::kWeftReplayed), 1U);
}

}  // namespace
}  // namespace weft::recovery
