// The packets of one flow that wait behind a gap, in PSN order. Allocates only when something is held. The frames'
// references belong to the queue's owner (the restorer), which sends or releases what it takes out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "agent/recovery/ack_order.h"
#include "agent/recovery/engine_io.h"
#include "agent/recovery/flow_order.h"
#include "agent/roce/psn.h"

namespace weft::recovery {

struct HeldPacket {
  OrderFacts facts;
  std::uint32_t payload_bytes = 0;
  std::optional<AckOrder::Ack> ack;  // of an acknowledgement
  FrameId frame;
  Time at{};
  bool ce_marked = false;

  static HeldPacket of(const roce::PacketView& view, const OrderFacts& facts, FrameId frame, Time now) {
    HeldPacket packet{.facts = facts,
                      .payload_bytes = static_cast<std::uint32_t>(view.payload_bytes()),
                      .ack = std::nullopt,
                      .frame = frame,
                      .at = now,
                      .ce_marked = view.ecn() == roce::kEcnCe};
    if (view.op().is_response() && !view.op().carries_payload) {
      packet.ack =
          AckOrder::Ack{.psn = facts.psn, .syndrome = view.aeth()->syndrome, .icrc = view.icrc_found()};
    }
    return packet;
  }
};

class HoldQueue {
 public:
  bool empty() const { return packets_.empty(); }
  std::size_t size() const { return packets_.size(); }
  const HeldPacket& front() const { return packets_.front(); }
  const HeldPacket& back() const { return packets_.back(); }

  // Takes the packet. When its PSN is held already, the frame of the two that is one too many: a mark of congestion
  // is worth keeping.
  [[nodiscard]] std::optional<FrameId> insert(const HeldPacket& packet) {
    auto position = packets_.end();  // nearly always the newest
    while (position != packets_.begin() && roce::psn_before(packet.facts.psn, std::prev(position)->facts.psn))
      --position;
    if (position != packets_.begin() && std::prev(position)->facts.psn == packet.facts.psn) {
      HeldPacket& held = *std::prev(position);
      if (held.ce_marked || !packet.ce_marked) return packet.frame;
      held.ce_marked = true;
      return std::exchange(held.frame, packet.frame);
    }
    packets_.insert(position, packet);
    return std::nullopt;
  }

  HeldPacket take_front() {
    const HeldPacket packet = packets_.front();
    packets_.pop_front();
    return packet;
  }

  // Whether a packet behind this PSN came at or after `since`.
  bool any_behind(roce::Psn psn, Time since) const {
    for (auto packet = packets_.rbegin(); packet != packets_.rend(); ++packet) {
      if (!roce::psn_before(psn, packet->facts.psn)) return false;
      if (packet->at >= since) return true;
    }
    return false;
  }

  // When the packet that has waited longest came: not always the front one.
  Time oldest() const { return std::ranges::min_element(packets_, {}, &HeldPacket::at)->at; }

 private:
  std::deque<HeldPacket> packets_;
};

}  // namespace weft::recovery
