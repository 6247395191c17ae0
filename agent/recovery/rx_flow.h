// One flow from the WAN as the restorer knows it.
//
// Epochs. A flow's PSNs mean nothing across the reuse of its queue pair. `epoch` counts the orders this side has begun:
// with the first packet, with each jump of the PSN and with each announcement of a new epoch. The sender counts too
// (`wire_epoch`), and a flow id stands for one of its epochs. Packets are recovered and filled only when both sides
// evidently mean the same: `epoch_agreed`.
#pragma once

#include <cstdint>
#include <optional>

#include "agent/recovery/ack_order.h"
#include "agent/recovery/arrivals.h"
#include "agent/recovery/flow_order.h"
#include "agent/recovery/hold_queue.h"
#include "agent/recovery/message_log.h"
#include "agent/recovery/path_headers.h"
#include "agent/roce/flow_key.h"
#include "agent/wire/messages.h"

namespace weft::recovery {

// Of a packet whose epoch at the sender is not the flow's at this side.
inline constexpr std::uint32_t kNoEpoch = 0xffffffff;

struct RxFlow {
  roce::FlowKey key;
  FlowHandle handle = kNoFlow;
  roce::Transport transport = roce::Transport::kRc;

  // From the newest announcement; before it the flow passes unprotected.
  bool announced = false;
  wire::StreamId stream;
  std::uint8_t wire_epoch = 0;
  std::uint32_t epoch = 0;
  bool epoch_agreed = false;

  FlowOrder order;
  AckOrder acks;  // of a response flow
  HoldQueue held;
  // One past the newest PSN whose bytes have earned fill budget, in this epoch: what is delivered again earns nothing.
  std::optional<roce::Psn> earned_until;
  // One past the newest PSN some list has proven sent, in this epoch, when that is ahead of the order.
  std::optional<roce::Psn> proven_until;
  // Since when something is known to be missing before what is held or proven; nullopt while nothing is.
  std::optional<Time> gap_since;
  Time look_at{};        // when the gap is worth another look
  bool in_gaps = false;  // in the restorer's list of flows with gaps

  MessageLog messages;
  PathHeaders path;  // of its newest packet
  Time last_packet_at{};
  // The first packet that came this way since the order began: earlier ones may have gone over the bridge.
  struct FirstSeen {
    roce::Psn psn;
    Time at{};
  };
  std::optional<FirstSeen> first_seen;
  bool told = false;     // the classifier was told of it
  Time tell_again_at{};  // unless it is arriving by then
  bool in_use = false;

  // Whether any packet of it has come to this agent.
  bool arriving() const { return path.known(); }
  std::optional<roce::Psn> first_held() const {
    return held.empty() ? std::nullopt : std::optional(held.front().facts.psn);
  }
  // Only then is order kept for it; UD and CNP have none.
  bool ordered() const {
    return announced && (transport == roce::Transport::kRc || transport == roce::Transport::kUc);
  }
};

}  // namespace weft::recovery
