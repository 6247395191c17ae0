// An encoder with everything it needs, in virtual time, and the peer's session to read what it sends.
//
//   EncoderRig rig(seed, policy);
//   rig.send(frame, tag); rig.advance(milliseconds(2));
//   for (const auto& repair : rig.wan().repairs) ...
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "agent/recovery/encoder.h"
#include "agent/roce/builder.h"
#include "testbed/sim/frame_pool.h"
#include "tests/support/session_pair.h"

namespace weft::test {

using sim::FramePool;

// What the WAN was given, read by the peer.
struct WanTraffic {
  struct OwnedRepair {
    wire::Repair value;  // its symbol is `symbol`
    Bytes symbol;
    recovery::Time at{};
  };
  std::vector<Bytes> sources;  // whole frames
  std::vector<OwnedRepair> repairs;
  std::vector<wire::Manifest> manifests;
  std::vector<wire::Announcement> announcements;
  std::vector<Bytes> ack_copies;   // IP packets
  std::size_t source_bytes = 0;    // at IP level
  std::size_t overhead_bytes = 0;  // repairs, manifests, announcements
  std::size_t control_bytes = 0;   // everything else of Weft's
};

class EncoderRig {
 public:
  EncoderRig(std::uint64_t seed, recovery::PolicyTable policy,
             recovery::EncoderLimits limits = recovery::EncoderLimits(),
             recovery::WeftSender::Config config = recovery::WeftSender::Config());

  // A frame from the lan, at the present time.
  void send(const Bytes& frame, recovery::Tag tag);
  // Lets time pass, ticking whenever the encoder asks for it.
  void advance(recovery::Time duration);
  void feedback(const wire::Feedback& feedback, recovery::Time rtt);

  // Everything sent so far. A Weft packet that the peer cannot open, or that would not survive a router (a
  // wrong checksum or length), ends the program.
  const WanTraffic& wan();
  void forget_wan() {
    wan();
    wan_ = {};
  }

  recovery::Time now() const { return now_; }
  std::uint64_t count(recovery::Event event) const { return counters.total(event); }

  FramePool pool;
  recovery::Counters counters;
  recovery::PolicyTable policy;
  SessionPair sessions;
  recovery::WeftSender sender;
  recovery::Encoder encoder;

 private:
  void read(const FramePool::Sent& sent);

  recovery::Time now_;
  WanTraffic wan_;
};

// The requester's side of an RC flow that writes messages.
struct WriteFlow {
  explicit WriteFlow(std::uint32_t qpn, bool ipv6 = false);

  // The packets of the next message.
  std::vector<Bytes> message(std::uint32_t bytes, std::optional<std::uint32_t> imm = std::nullopt);
  // Packet `index` of a message of `bytes` that starts at `first`.
  Bytes packet(roce::Psn first, std::uint32_t bytes, std::uint32_t index,
               std::optional<std::uint32_t> imm = std::nullopt);
  // An ACK or NAK as the responder at this address would send it for the other direction.
  Bytes acknowledge(roce::Psn psn, std::uint8_t syndrome = roce::kAckUnlimitedCredits);

  roce::PacketPath path;
  std::uint32_t qpn;
  roce::Psn psn;
  std::uint32_t pmtu_bytes = 1024;
  std::uint16_t next_ip_id = 1;
};

}  // namespace weft::test
