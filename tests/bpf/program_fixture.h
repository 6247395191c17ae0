// Runs the XDP programs on made-up frames by BPF_PROG_TEST_RUN: nothing is attached to a device. Each test has
// freshly loaded programs with empty tables, a fresh heartbeat, and a socket on queue 0 of both ports, so that
// a taken packet ends in XDP_REDIRECT.
#pragma once

#include <map>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "agent/base/unique_fd.h"
#include "agent/dataplane/classifier.h"
#include "agent/dataplane/xdp_programs.h"
#include "agent/roce/builder.h"

namespace weft::test {

// Cause and class of each counter that moved, with the packets it moved by.
using CounterDelta = std::map<std::pair<weft_cause, recovery::ClassId>, std::uint64_t>;

struct RunResult {
  std::uint32_t action = 0;  // enum xdp_action
  std::optional<weft_meta> meta;
  Bytes frame;  // as it would go on, without metadata
  CounterDelta counted;
};

class ProgramFixture : public testing::Test {
 protected:
  void SetUp() override;

  RunResult run(recovery::Port port, ByteView frame);
  void close_socket(recovery::Port port);

  std::uint64_t heartbeat_age_ns_ = 0;  // when a packet comes

  std::optional<dataplane::XdpPrograms> programs_;
  std::optional<dataplane::Classifier> classifier_;

  // Peers 10.2.0.0/16 and fd00:2::/48, index 7; DSCP 10 is dp-high, 34 is pp level 5; Weft port 4793.
  dataplane::ClassifierTables tables_;

 private:
  UniqueFd sockets_[2];
};

inline constexpr std::uint32_t kMaxFrameBytes = 6000;
inline constexpr std::uint16_t kWeftPort = 4793;
inline constexpr std::uint16_t kPeerIndex = 7;
inline constexpr recovery::ClassId kDpHigh = 1;
inline constexpr recovery::ClassId kDpLow = 2;
inline constexpr recovery::ClassId kPp = 3;
inline constexpr recovery::ClassId kAck = 4;

// What a test varies in a RoCE packet. From 10.1.0.1 to 10.2.0.2 (fd00:1::1 to fd00:2::2), QPN 0x123.
struct FrameSpec {
  roce::Opcode opcode = roce::Opcode::kRcRdmaWriteMiddle;
  unsigned dscp = 0;
  bool ipv6 = false;
  bool reversed = false;  // from the peer to us
  unsigned vlans = 0;
  std::uint32_t psn = 100;
  std::uint32_t qpn = 0x123;
  std::size_t payload_bytes = 1024;
  std::uint16_t udp_source_port = 0xc000;
  roce::Reth reth{};
};
Bytes make_frame(const FrameSpec& spec);

// A UDP datagram between the same addresses.
Bytes make_datagram(std::uint16_t udp_destination, ByteView payload, bool reversed);

}  // namespace weft::test
