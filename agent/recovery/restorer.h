// The restorer, wan -> lan: forwards what arrives, in the order the receiver needs it, and makes good what the WAN lost.
// One per peer and lane.
//
//   source packet ──▶ arrivals (kept for decoding) ──▶ order of its flow ──▶ lan
//                                                          │ ahead: held until its gap is closed by
//   repair ──▶ blocks ──decode──▶ rebuilt packet ──────────┤   late arrival, FEC, fill, or given up
//   manifest ──▶ missing, messages ────────fill────────────┘
//   lan's answers ──▶ pairing ──▶ rewinds, fill ledger ──▶ fill sink
//
// In order and without loss a packet is forwarded at once, and all that happens is a record in the arrivals. A packet
// is held only while something can still close the gap before it, never longer than hold_bound(), and never beyond
// the limits: a flow that would exceed them is let pass instead (P6, P7). Every branch has a counter (P8).
//
// Ownership: on_source() takes the frame's reference and spends it by sending, holding or releasing. Views and bodies
// are only read during the call. No clock: every call that needs the time is given it, and time never runs backwards.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "agent/base/duration_histogram.h"
#include "agent/recovery/arrivals.h"
#include "agent/recovery/block_store.h"
#include "agent/recovery/engine_io.h"
#include "agent/recovery/events.h"
#include "agent/recovery/fill_ledger.h"
#include "agent/recovery/fill_record.h"
#include "agent/recovery/flow_ids.h"
#include "agent/recovery/flow_list.h"
#include "agent/recovery/flow_notices.h"
#include "agent/recovery/missing_set.h"
#include "agent/recovery/pairing.h"
#include "agent/recovery/policy.h"
#include "agent/recovery/recent_names.h"
#include "agent/recovery/rx_flow_table.h"
#include "agent/recovery/rx_stream.h"
#include "agent/roce/view.h"
#include "agent/wire/messages.h"

namespace weft::recovery {

// Caps of everything the restorer keeps. Frames count whole buffers of the pool.
struct RestorerLimits {
  std::size_t flows = 65536;
  std::size_t held_frames = 8192;
  std::size_t kept_frames = 4096;
  std::size_t arrival_records = 32768;
  std::size_t blocks = 1024;
  std::size_t symbol_bytes = std::size_t{16} << 20;
  std::size_t missing_packets = 16384;
  std::size_t pending_fills = 4096;
  std::size_t flow_notices = 4096;
  // The requester's: a hold and a round trip stay within three quarters of it.
  Time endpoint_timeout = std::chrono::milliseconds(67);
};

class Restorer {
 public:
  Restorer(FrameIo& io, const PolicyTable& policy, const RestorerLimits& limits, Counters& counters,
           FillSink& fill_sink);
  ~Restorer();
  Restorer(const Restorer&) = delete;
  Restorer& operator=(const Restorer&) = delete;

  // A RoCE packet of this peer from the WAN, whole (view.complete()).
  void on_source(FrameId frame, const roce::PacketView& view, Time now);

  // One that went by while there was no session with the peer: only that it went is noted.
  void on_passed(FrameId frame, const roce::PacketView& view, Time now);

  // Authentic bodies from the peer; each is validated again as far as the restorer depends on it.
  // `vlans`: of the frame the announcement came in, since a WAN may rewrite tags.
  void on_announcement(const wire::Announcement& announcement, const roce::VlanStack& vlans, Time now);
  void on_manifest(const wire::Manifest& manifest, Time now);
  void on_repair(const wire::Repair& repair, Time now);

  // `carrier`: the headers of the Weft packet it came in.
  void on_ack_copy(const wire::AckCopy& copy, const PathHeaders& carrier, Time now);

  // A packet of the local endpoints on its way to this peer, before it is sent: their acknowledgements tell what was
  // received, and what is to be sent again.
  void on_lan_packet(const roce::PacketView& view, Time now);

  // The session's measured round trip, and the shortest, without queues; zero while unknown.
  void set_rtt(Time rtt, Time least) {
    rtt_ = rtt;
    least_rtt_ = least;
  }

  // Loss counts, confirmed flows and covered ordinals; leaves the rest alone.
  void fill_feedback(wire::Feedback& feedback, Time now);

  void tick(Time now);
  // When tick() has something to do; nullopt when nothing waits.
  std::optional<Time> next_deadline() const;

  // The peer's agent is silent, or protection is switched off: what is held goes out, and orders start anew. What the
  // peer announced still holds: it may have heard us all the time and would not say it again.
  void peer_lost();
  // The peer's agent started anew: its ids, ordinals and blocks mean nothing any more. Orders go on.
  void peer_restarted(Time now);
  // The process slept, and the bridge has meanwhile forwarded newer packets: what is held is stale. Dropped, counted;
  // orders start anew, as above.
  void drop_stale();

  // For the classifier of frames from the WAN; to be taken soon after any call.
  FlowNotices& flow_notices() { return notices_; }

  std::size_t flows() const { return flows_.size(); }
  void list_flows(std::string_view peer, bool same_classes, NewestFlows& out) const;
  std::size_t held_frames() const { return held_frames_; }
  std::size_t kept_frames() const { return arrivals_.frames(); }
  // Of every packet FEC brought back and the receiver got: since when it was known to be missing, by a packet that was held
  // for it or by a list.
  const DurationHistogram& recovery_latency() const { return recovery_latency_; }

  // No packet is held longer.
  Time hold_bound() const;

 private:
  // restorer.cpp: source packets and order
  RxFlow* flow_of(const roce::FlowKey& key, const roce::PacketView& view, Time now);
  void learn_from(RxFlow& flow, const roce::PacketView& view);
  bool evidently_resent(const RxFlow& flow, const roce::PacketView& view, Time now);
  bool is_second_copy(const RxFlow& flow, const SourceName& name);
  void note_arrival(RxFlow& flow, const SourceName& name, FrameId frame, const roce::PacketView& view,
                    Time now);
  enum class Origin : std::uint8_t { kWan, kRecovered };
  void put_in_order(RxFlow& flow, const HeldPacket& packet, Origin origin, Time now);
  // Whether the receiver waits for just this packet, or for one before it, or for a later one.
  enum class Turn : std::uint8_t { kItsOwn, kAhead, kOld };
  void deliver(RxFlow& flow, const HeldPacket& packet, Turn turn);
  void earn_budget(RxFlow& flow, const HeldPacket& packet);
  static void note_answer(RxFlow& flow, const HeldPacket& packet);
  void note_old(const RxFlow& flow, const HeldPacket& packet);
  void hold(RxFlow& flow, const HeldPacket& packet, Time now);
  void drain(RxFlow& flow);
  void begin_epoch(RxFlow& flow);
  void restart_orders();
  void send_all_held(RxFlow& flow);
  void release_all_held(RxFlow& flow);
  void remove_flow(RxFlow& flow);
  void shed_if_scarce(Time now);
  void housekeeping(Time now);
  void count(Event event, const RxFlow& flow, std::uint64_t amount = 1) {
    counters_.add(event, flow.announced ? flow.stream.class_id : kClassExact, amount);
  }

  // restorer_lists.cpp: what the peer says it sent, and decoding
  bool known_stream(wire::StreamId stream) const;
  void take_list(Block& block, std::uint32_t slot, const wire::Repair& repair, RxStream& stream, Time now);
  void note_missing(const MissingPacket& packet, Time now);
  void adopt_epoch(const SourceName& name, const Arrivals::Record& record);
  void release_block_frames(const Block& block);
  void decode_touched_blocks(Time now);
  void try_decode(std::uint32_t slot, Time now);
  void deliver_recovered(const RecoveredPacket& packet, Time now);
  void plan_give_up(Block& block, Time now);
  void give_up_older_blocks(const Block& newer, Time now);
  void give_up_block(std::uint32_t slot, Time now);
  void fail_block(std::uint32_t slot, Time now);
  void forget_block_references(std::uint32_t slot);
  void look_again(const SourceName& name, Time now);

  // restorer_notices.cpp
  void tell_announced(RxFlow& flow, Time now);
  void tell_again_if_silent(RxFlow& flow, Time now);
  void tell_forgotten(RxFlow& flow);
  static LossJudge::Fate fate_of_missing(const RxFlow& flow, roce::Psn psn, Time now);

  // restorer_gaps.cpp: gaps and their end
  void update_gap(RxFlow& flow, Time now);
  void resolve(RxFlow& flow, Time now);
  void give_up(RxFlow& flow, Event reason, Time now);
  roce::Psn missing_psn(const RxFlow& flow) const;
  bool repairs_expected(const RxFlow& flow, Time now);
  bool not_sent_over_wan(const RxFlow& flow);
  ResendDelay resend_delay() const;

  // restorer_fill.cpp
  enum class FillOutcome : std::uint8_t { kFilled, kNotYet, kRefused };
  FillOutcome try_fill(RxFlow& flow, Time now);
  std::optional<Event> fill_forbidden(const RxFlow& flow) const;
  std::optional<Event> fill_refused(RxFlow& flow, roce::Psn psn);
  bool proven_sent(const RxFlow& flow, roce::Psn psn);
  bool was_not_lost(const RxFlow& flow, roce::Psn psn);
  static bool began_unseen(const RxFlow& flow, const LoggedMessage& message);
  PendingFill* pending_fill(const RxFlow& flow, const FillRecord& record);
  void report_fill(const PendingFill& fill, Time now);
  void fills_acknowledged(FlowHandle flow, roce::Psn until, Time now);
  void cancel_fill(RxFlow& flow, roce::Psn psn);
  void report_unanswered_fills(const RxFlow& flow);
  void report_orphaned_fills();
  void report_overdue_fills(Time now);

  FrameIo& io_;
  const PolicyTable& policy_;
  RestorerLimits limits_;
  Counters& counters_;
  FillSink& fill_sink_;
  Time rtt_{};
  Time least_rtt_{};

  RxFlowTable flows_;
  FlowNotices notices_;
  FlowIds ids_;
  Arrivals arrivals_;
  MissingSet missing_;
  BlockStore blocks_;
  RxStreams streams_;
  ReorderAllowance reorder_;
  RecentNames recovered_;
  Pairing pairing_;
  FillLedger ledger_;
  wire::LossCounts losses_;
  DurationHistogram recovery_latency_;

  std::vector<FlowHandle> gaps_;
  std::vector<std::uint32_t> touched_blocks_;  // a packet they missed has arrived
  std::size_t held_frames_ = 0;
  std::optional<Time> housekeeping_at_;
  std::size_t expiry_cursor_ = 0;
};

}  // namespace weft::recovery
