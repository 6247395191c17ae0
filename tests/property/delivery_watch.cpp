#include "tests/property/delivery_watch.h"

#include <algorithm>

#include <fmt/format.h>

#include "testbed/sim/transfer.h"

namespace weft::test {
namespace {

using roce::Operation;
using roce::Psn;

std::string named(const roce::PacketView& view) {
  return fmt::format("{} to QP {:#x} PSN {} ICRC {:08x}", view.op().name, view.dest_qpn(), view.psn().value,
                     view.icrc_found());
}

}  // namespace

void DeliveryWatch::see(const Sighting& seen) {
  if (!seen.roce) {
    if (seen.place == sim::Place::kToHost && seen.weft && present_[sim::index(seen.side)])
      complaints_.add("P10", fmt::format("a Weft packet of type {} reached a host", int(seen.weft->type)));
    return;
  }
  if (seen.stranger) return;
  if (seen.place == sim::Place::kFromHost) return judge_answer(*seen.roce);
  if (seen.place != sim::Place::kToHost) return;
  SentPacket* packet = book_.find(seen.roce->flow_key(), seen.roce->psn());
  // What has arrived and not been delivered; what an agent may have made anew.
  SentCopy* copy = nullptr;
  if (packet != nullptr) {
    const std::uint32_t icrc = seen.roce->icrc_found();
    copy = packet->find(icrc, [](const SentCopy& c) { return c.delivered_arrivals < c.arrivals; });
    if (copy != nullptr && copy->delivered_arrivals >= copy->arrivals)
      copy = packet->find(icrc, [](const SentCopy& c) { return !c.left_wan && !c.seen_delivered(); });
  }
  if (copy != nullptr) {
    judge_true(seen.side, *seen.roce, *packet, *copy);
  } else {
    judge_fill(seen.side, *seen.roce, packet);
  }
}

// As a go-back-N receiver: whether this packet is the one it waits for. READ requests take as many PSNs as they have
// responses; their number is known from the next request.
bool DeliveryWatch::takes_turn(const roce::PacketView& view) {
  Turn& turn = turns_[view.flow_key()];
  if (turn.started && view.psn() != turn.next && view.op().operation != Operation::kReadRequest) {
    // Behind a READ the next PSN is not known here; a packet that goes on after one starts anew.
    if (!roce::psn_before(turn.next, view.psn()) || book_.find(view.flow_key(), view.psn() - 1) != nullptr)
      return false;
  }
  turn.started = true;
  turn.next = view.psn() + 1;
  return true;
}

void DeliveryWatch::judge_true(sim::Side side, const roce::PacketView& view, SentPacket& packet,
                               SentCopy& copy) {
  const bool acknowledgement = view.op().operation == Operation::kAcknowledge;
  if (copy.delivered_arrivals < copy.arrivals) {
    ++copy.delivered_arrivals;
    // Over IPv6 one of several equal transmissions cannot be told from another.
    if (!view.ipv6() && copy.ce_on_arrival && view.ecn() != roce::kEcnCe)
      complaints_.add("P9", named(view) + ": the CE mark it came with is gone");
  } else {
    ++rebuilt_;
    // Acknowledgements over IPv6 may be equal without being the same.
    const bool nameless = acknowledgement && view.ipv6();
    if (copy.seen_delivered() && !copy.mark_changed && !nameless && !has_forgotten(side))
      complaints_.add("P10", named(view) + ": made anew although it was delivered before");
    const auto newest = answered_.find(view.flow_key());
    if (acknowledgement && newest != answered_.end() && copy.number < newest->second.number &&
        roce::psn_before(view.psn(), newest->second.psn) && !has_forgotten(side))
      complaints_.add("P10", named(view) + ": a copy behind newer acknowledgements");
    ++copy.delivered_rebuilt;
  }
  if (view.op().is_response()) return note_answered(view.flow_key(), view.psn(), copy.number);
  if (takes_turn(view)) {
    if (const auto tag = config_.tag_by_dscp[packet.dscp]) account_.delivered(*tag, packet.payload_bytes);
  }
}

void DeliveryWatch::note_answered(const roce::FlowKey& flow, Psn psn, std::uint64_t number) {
  const auto [newest, first] = answered_.try_emplace(flow, Answered{.psn = psn, .number = number});
  if (!first && newest->second.is_before(psn)) newest->second = {.psn = psn, .number = number};
}

void DeliveryWatch::judge_fill(sim::Side side, const roce::PacketView& view, SentPacket* packet) {
  if (packet == nullptr) return complaints_.add("P3", named(view) + ": was never sent");
  if (!std::ranges::all_of(view.payload(), [](std::uint8_t byte) { return byte == 0; }) ||
      !view.op().is_rc_write())
    return complaints_.add("P1", named(view) + ": is neither what was sent nor a fill");
  const auto tag = config_.tag_by_dscp[packet->dscp];
  if (!tag || !policy_.classes[tag->class_id].may_fill(tag->level))
    return complaints_.add("P2", named(view) + ": filled in a class that may not be");
  // An agent that started anew does not know what came before; it counts as late.
  if (!packet->missing() && !has_forgotten(side))
    complaints_.add("P3", named(view) + ": filled although it was not missing");

  const roce::Bth bth = view.bth();
  const roce::Bth& sent = packet->bth;
  const bool last = view.op().ends_message();
  if (bth.opcode != sent.opcode || bth.pkey != sent.pkey || bth.mig_req != sent.mig_req ||
      bth.solicited_event != sent.solicited_event || bth.dest_qpn != sent.dest_qpn ||
      view.payload_bytes() != packet->payload_bytes || view.reth().value_or(roce::Reth{}) != packet->reth ||
      (last && view.imm().value_or(0) != packet->imm) || view.dscp() != packet->dscp)
    complaints_.add("P3", named(view) + ": its headers are not the sender's");
  if (!bth.ack_req) complaints_.add("P3", named(view) + ": filled without AckReq");
  if (packet->message_bytes < policy_.min_fill_message_bytes)
    complaints_.add("P2",
                    fmt::format("{}: a message of {} bytes filled", named(view), packet->message_bytes));

  fills_.push_back({.flow = view.flow_key(), .psn = view.psn(), .copies = packet->copies.size()});
  takes_turn(view);
  account_.filled(*tag, view.flow_key(), view.psn(), *packet);
}

// A NAK says from where on the receiver has thrown everything away. Both ends know their queue pairs; the agents
// have to find out.
void DeliveryWatch::judge_answer(const roce::PacketView& view) {
  const auto aeth = view.aeth();
  if (!aeth || roce::is_ack(aeth->syndrome)) return;
  roce::FlowKey request = view.flow_key();
  std::swap(request.src, request.dst);
  request.dest_qpn = sim::Transfer::qpn_b_of(view.dest_qpn());
  request.response = false;
  account_.thrown_away(request, view.psn());
  if (const auto turn = turns_.find(request); turn != turns_.end()) turn->second.next = view.psn();
}

std::uint64_t DeliveryWatch::late_fills() const {
  std::uint64_t late = 0;
  for (const Fill& fill : fills_) {
    const SentPacket* packet = book_.find(fill.flow, fill.psn);
    if (packet == nullptr) continue;
    const auto end = packet->copies.begin() + static_cast<std::ptrdiff_t>(fill.copies);
    late += std::all_of(packet->copies.begin(), end, [](const SentCopy& copy) { return copy.left_wan; });
  }
  return late;
}

}  // namespace weft::test
