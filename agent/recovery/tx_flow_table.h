// The encoder's flows: which id names each flow in Weft packets, and when the peer must be told.
//
// An id stands for one (flow key, epoch, stream) and never changes its meaning: a flow that starts over (a
// PSN jump: the QP was reused) or moves to another class gets a new id, so that a repair still in the network
// keeps naming what it was made of. The old id rests before it is given out again.
//
// Announcement: at once with the flow's first packet, again after 1, 2, 4... RTT until feedback confirms the
// id; only while the flow sends. After ten silent seconds the peer may have dropped it, so it is announced
// again.
//
// Bounded: at `max_flows` a new flow is refused (the newest are shed, those at work keep their protection)
// until idle ones have expired.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "agent/recovery/engine_io.h"
#include "agent/recovery/path_headers.h"
#include "agent/roce/flow_key.h"
#include "agent/roce/psn.h"
#include "agent/wire/messages.h"

namespace weft::recovery {

struct TxFlow {
  roce::FlowKey key;
  wire::FlowId id = 0;
  std::uint8_t epoch = 0;
  wire::StreamId stream;
  PathHeaders path;       // of its newest packet when last announced
  roce::Psn next_psn;     // one past the newest it has sent
  Time last_packet_at{};  // any packet, also a resent one

  // The message being sent, where the class may fill and it is long enough to be filled.
  std::optional<wire::MessageDescriptor> message;

  bool in_use = false;
  bool confirmed = false;
  bool announcement_queued = false;
  Time announce_at{};
  Time announce_interval{};
};

class TxFlowTable {
 public:
  // At most 65536: ids have 16 bits.
  explicit TxFlowTable(std::size_t max_flows);

  // The flow of a packet that consumes `psns` PSNs from `psn` on; nullptr when the table is full. The pointer
  // is good until the next call.
  TxFlow* on_packet(const roce::FlowKey& key, wire::StreamId stream, roce::Psn psn, std::uint32_t psns,
                    const PathHeaders& path, Time now);

  void confirm(std::span<const wire::FlowId> ids);

  // The time the next announcement is due; nullopt when none is.
  std::optional<Time> next_announcement() const;
  // A flow whose announcement is due, and schedules its next one `rtt` (doubling) later; nullptr when none.
  const TxFlow* take_due_announcement(Time now, Time rtt);

  // Frees flows that have been silent; looks at a few per call.
  void expire(Time now);

  // The peer has forgotten everything: every flow is announced again with its next packet.
  void forget_confirmations();

  const TxFlow* find(wire::FlowId id) const {
    return id < flows_.size() && flows_[id].in_use ? &flows_[id] : nullptr;
  }
  std::size_t size() const { return by_key_.size(); }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const TxFlow& flow : flows_) {
      if (flow.in_use) visit(flow);
    }
  }

 private:
  struct Due {
    Time at{};
    wire::FlowId id = 0;
    // For a heap whose front is the earliest.
    friend bool operator<(const Due& a, const Due& b) { return a.at > b.at; }
  };
  struct Resting {
    wire::FlowId id = 0;
    Time until{};
  };
  TxFlow* open(const roce::FlowKey& key, wire::StreamId stream, std::uint8_t epoch, Time now);
  std::optional<wire::FlowId> free_id(Time now);
  void close(TxFlow& flow, Time now);
  void queue_announcement(TxFlow& flow, Time at);

  std::size_t max_flows_;
  std::deque<TxFlow> flows_;  // by id; stable addresses
  std::unordered_map<roce::FlowKey, wire::FlowId> by_key_;
  std::deque<Resting> resting_;
  std::vector<Due> due_;  // heap; one entry per flow with announcement_queued
  TxFlow* last_ = nullptr;
  std::size_t expiry_cursor_ = 0;
};

}  // namespace weft::recovery
