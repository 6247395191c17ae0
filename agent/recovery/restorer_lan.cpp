// What leaves the lan for the peer, and copies of the peer's acknowledgements.
#include "agent/recovery/rebuild.h"
#include "agent/recovery/restorer.h"

namespace weft::recovery {

using roce::Operation;
using roce::Psn;

// The longest a responder may ask a requester to wait (IBTA table 45).
constexpr Time kMaxRnrDelay = std::chrono::microseconds(655'360);

void Restorer::on_lan_packet(const roce::PacketView& view, Time now) {
  if (!view.op().has(roce::kExtAeth))
    return;  // requests and the middle of READ data say nothing about what arrived here
  const std::optional<roce::Aeth> aeth = view.aeth();
  const Psn psn = view.psn();
  const bool nak = !roce::is_ack(aeth->syndrome);
  const bool rnr = roce::is_rnr_nak(aeth->syndrome);
  const auto answered = pairing_.on_response(view.flow_key(), view.udp_source_port(), psn);
  for (const FlowHandle handle : answered) {
    RxFlow* flow = flows_.find(handle);
    if (flow == nullptr) continue;
    const bool certain = pairing_.paired(handle);
    if (certain) {
      // The first of READ data answers for what came before its request, whose last PSN is another.
      const bool more_to_come = view.op().operation == Operation::kReadResponse && !view.op().ends_message();
      const Psn until = nak || more_to_come ? psn : psn + 1;
      fills_acknowledged(handle, until, now);
      if (flow->order.receiver_has(until)) {
        drain(*flow);
        update_gap(*flow, now);
      }
    }
    if (!nak) continue;
    // Its window: what may have been sent and not acknowledged.
    const std::int32_t behind = roce::psn_distance(psn, flow->order.forwarded_until());
    if (behind < 0 || behind > static_cast<std::int32_t>(kMaxGapPackets)) continue;
    count(rnr ? Event::kRewindRnr : Event::kRewindNak, *flow);
    const ResendDelay delay = resend_delay();
    flow->order.expect_rewind(psn, {.earliest = now + delay.least,
                                    .latest = now + delay.most + (rnr ? kMaxRnrDelay : Time::zero())});
    if (certain) flow->order.thrown_away_from(psn);
  }
  report_orphaned_fills();
}

void Restorer::on_ack_copy(const wire::AckCopy& copy, const PathHeaders& carrier, Time now) {
  const auto view = roce::PacketView::parse_ip(copy.ip_packet);
  const bool acknowledgement = view && (view->op().operation == Operation::kAcknowledge ||
                                        view->op().operation == Operation::kAtomicAcknowledge);
  if (!acknowledgement || !view->icrc_ok()) {
    counters_.add(Event::kAckCopyMalformed, kClassExact);
    return;
  }
  RxFlow* flow = flow_of(carrier.flow_key(*view), *view, now);
  if (flow == nullptr) {
    counters_.add(Event::kAckCopyStale, kClassExact);
    return;
  }
  const AckOrder::Ack ack{.psn = view->psn(), .syndrome = view->aeth()->syndrome, .icrc = view->icrc_found()};
  // READ data that is on its way or held comes first, and acknowledges as much.
  if (!flow->acks.copy_is_news(ack) || flow->order.mid_read_response() || !flow->held.empty()) {
    count(Event::kAckCopyStale, *flow);
    return;
  }
  const auto frame = rebuild_frame(io_, flow->path.known() ? flow->path : carrier, copy.ip_packet, false);
  if (!frame) {
    count(Event::kRecoveryNoFrame, *flow);
    return;
  }
  flow->order.arrive(OrderFacts::of(*view), std::nullopt, false, now, resend_delay());
  flow->acks.delivered(ack);
  count(Event::kAckCopyDelivered, *flow);
  io_.send(Port::kLan, *frame);
}

}  // namespace weft::recovery
