// The encoder of one peer and lane (lan -> wan): forwards every source packet at once and unmodified, and adds
// what the peer needs to repair, prove and order them.
//
//   frame ──▶ sent to the WAN, then looked at:
//     request or READ data ─▶ flow table (id, epoch) ─▶ its stream ─▶ repairs, manifests
//     ACK, NAK             ─▶ ACK guard ─▶ copies
//     anything else        ─▶ nothing
//
// While the peer is not ready packets are forwarded and nothing else happens. Owned and called by the lane's
// thread; holds no frame longer than a call.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "agent/recovery/ack_guard.h"
#include "agent/recovery/coding_planner.h"
#include "agent/recovery/engine_io.h"
#include "agent/recovery/events.h"
#include "agent/recovery/flow_list.h"
#include "agent/recovery/path_estimate.h"
#include "agent/recovery/path_index.h"
#include "agent/recovery/peer_terms.h"
#include "agent/recovery/policy.h"
#include "agent/recovery/stream_encoder.h"
#include "agent/recovery/stream_slots.h"
#include "agent/recovery/tx_flow_table.h"
#include "agent/recovery/weft_sender.h"

namespace weft::recovery {

struct EncoderLimits {
  std::size_t max_flows = 65536;
  std::size_t max_guarded_flows = 1024;
  // Open, being sent, or kept until a tail is covered; all streams together.
  std::size_t max_groups = 64;
  // The local ACK timeout of the endpoints served.
  Time endpoint_timeout = std::chrono::milliseconds(67);
};

class Encoder {
 public:
  // All referenced objects outlive the encoder.
  Encoder(FrameIo& io, const PolicyTable& policy, WeftSender& sender, Counters& counters,
          const EncoderLimits& limits);

  // A RoCE frame from the lan for this peer; spends the caller's reference. `view` is of that frame.
  void on_source(FrameId frame, const roce::PacketView& view, Tag tag, Time now);
  // What the peer saw; `rtt` as the session measures it.
  void on_feedback(const wire::Feedback& feedback, std::optional<Time> rtt);
  // What the peer's hello allows; before anything is encoded for it.
  void agree(const PeerTerms& terms);
  // The peer is gone, or has restarted and forgotten everything.
  void reset();
  // From the next group on; the table outlives the encoder or the next call of this.
  void set_policy(const PolicyTable& policy);

  void tick(Time now);
  // When tick() has something to do; nullopt: not before the next packet or feedback.
  std::optional<Time> next_deadline() const { return deadline_; }

  std::size_t flows() const { return flows_.size(); }
  void list_flows(std::string_view peer, NewestFlows& out) const;
  // Of what this encoder's side sends, as the peer last reported.
  const wire::LossCounts& measured_loss() const { return planner_.measured_loss(); }
  std::vector<CodingPlanner::StreamStrength> strengths() const { return planner_.strengths(); }

 private:
  void encode(const roce::PacketView& view, const PathHeaders& path, Tag tag, Time now);
  StreamEncoder& stream_of(wire::StreamId id);
  StreamEncoder* covered_stream(const wire::Feedback::Covered& covered) const;
  void announce(Time now);
  void send_copies(Time now);
  void wake_at(std::optional<Time> at);
  void find_deadline();

  FrameIo& io_;
  Counters& counters_;
  WeftSender& sender_;
  CodingPlanner planner_;
  PathEstimate estimate_;
  BlockGroupPool pool_;
  TxFlowTable flows_;
  AckGuard guard_;
  PathIndex paths_;
  ClassId ack_class_;

  // By path, class and level, made when first used.
  std::array<std::unique_ptr<StreamEncoder>, kStreamSlots> streams_;
  std::vector<StreamEncoder*> active_streams_;
  wire::Announcement announcement_;
  std::optional<Time> deadline_;  // at or before the earliest thing to do
};

}  // namespace weft::recovery
