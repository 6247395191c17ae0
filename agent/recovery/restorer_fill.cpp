// Zero-fill: what may be filled, doing it, and accounting for it (P1 to P5).
#include <algorithm>

#include "agent/recovery/fill_builder.h"
#include "agent/recovery/restorer.h"

namespace weft::recovery {

using roce::Psn;

namespace {

// Much more than it takes a host to answer over its own network.
constexpr Time kAnswerTakes = std::chrono::milliseconds(20);

}  // namespace

// Everything that forbids a fill whatever the packet: P2, and doubt about whose answers are whose.
std::optional<Event> Restorer::fill_forbidden(const RxFlow& flow) const {
  if (flow.transport != roce::Transport::kRc || flow.key.response) return Event::kFillRefusedOpcode;
  // An order about to be taken back, or of unknown extent, is no ground to invent on.
  if (!flow.epoch_agreed || flow.order.rewind_expected() || flow.order.after_read() || !flow.path.known())
    return Event::kFillRefusedNotProven;
  // The sender went back for a reason of its own: what was delivered once may be in memory.
  if (roce::psn_before(flow.order.next(), flow.order.received_until())) return Event::kFillRefusedDelivered;
  if (!pairing_.paired(flow.handle) || !flow.order.in_step()) return Event::kFillRefusedAmbiguous;
  return std::nullopt;
}

// It has come since the sender last went back (or overtook the packet that showed it): it passed behind a gap that was
// given up, and its receiver, which threw it away then, has asked for it. Nothing but the sender is to be waited for.
bool Restorer::was_not_lost(const RxFlow& flow, Psn psn) {
  const Arrivals::Record* arrival = arrivals_.find_psn(flow.handle, psn, flow.epoch);
  return arrival != nullptr && !arrival->filled &&
         arrival->at + reorder_.value() >= flow.order.went_back_at();
}

// The sender's present pass over its packets has gone by this one: a later PSN has come, or a list has named it. What it
// sent before it went back is no proof: packets of that pass stay behind by as much as the path reorders, lists by as
// much as they take.
bool Restorer::proven_sent(const RxFlow& flow, Psn psn) {
  const Time went_back_at = flow.order.went_back_at();
  if (flow.held.any_behind(psn, went_back_at + reorder_.value())) return true;
  const Time lists_take = streams_[flow.stream].span.wait(reorder_.value(), hold_bound());
  return missing_.listed_since(flow.handle, psn, flow.epoch, went_back_at + lists_take);
}

// It began before the first packet that came this way: how much of it was filled then, by an agent that died or before
// this one lost its peer, nobody knows.
bool Restorer::began_unseen(const RxFlow& flow, const LoggedMessage& message) {
  const Psn first = message.descriptor.first_psn;
  if (!flow.first_seen || first == flow.first_seen->psn) return false;
  const std::int32_t before = roce::psn_distance(first, flow.first_seen->psn);
  return message.contains(flow.first_seen->psn) ||
         (before > 0 && before <= static_cast<std::int32_t>(kMaxGapPackets));
}

// Whether this packet's headers are known and its message may be filled.
std::optional<Event> Restorer::fill_refused(RxFlow& flow, Psn psn) {
  if (!proven_sent(flow, psn)) return Event::kFillRefusedNotProven;
  if (was_not_lost(flow, psn)) return Event::kFillRefusedDelivered;
  const LoggedMessage* message = flow.messages.find(psn);
  if (message == nullptr || !message->headers_known(psn)) return Event::kFillRefusedNoDescriptor;
  if (message->descriptor.reth.length_bytes < policy_.min_fill_message_bytes)
    return Event::kFillRefusedSmallMessage;
  if (began_unseen(flow, *message)) return Event::kFillRefusedMessageCap;
  return std::nullopt;
}

Restorer::FillOutcome Restorer::try_fill(RxFlow& flow, Time now) {
  const auto refuse = [&](Event event) {
    count(event, flow);
    return FillOutcome::kRefused;
  };
  if (!policy_.classes[flow.stream.class_id].may_fill(flow.stream.level)) return FillOutcome::kRefused;
  if (const auto forbidden = fill_forbidden(flow)) return refuse(*forbidden);

  // The whole gap or nothing: zeros in front of a packet that cannot be filled would be for nothing. Packets in it
  // that a repair may still bring are left to it, but for the first, whose time is over.
  const Psn end = flow.held.empty() ? *flow.proven_until : flow.held.front().facts.psn;
  for (Psn psn = flow.order.next(); psn != end; ++psn) {
    const MissingPacket* missing = missing_.find(flow.handle, psn, flow.epoch);
    const bool repairable = missing != nullptr && missing->block != kNoBlock && !missing->hopeless;
    if (repairable && psn != flow.order.next()) continue;
    if (const auto refused = fill_refused(flow, psn)) {
      // Its descriptor may be on the way.
      if (*refused == Event::kFillRefusedNoDescriptor && now < *flow.gap_since + hold_bound())
        return FillOutcome::kNotYet;
      return refuse(*refused);
    }
  }

  const Psn psn = flow.order.next();
  LoggedMessage& message = *flow.messages.find(psn);
  const std::uint32_t payload_bytes = message.payload_bytes(psn);
  const wire::MessageDescriptor& descriptor = message.descriptor;
  const PendingFill fill{
      .record = {.at = now,
                 .src = flow.key.src,
                 .dst = flow.key.dst,
                 .dst_qpn = flow.key.dest_qpn,
                 .psn = psn,
                 .va = descriptor.reth.va,
                 .rkey = descriptor.reth.rkey,
                 .offset_bytes = message.offset_of(psn),
                 .payload_bytes = payload_bytes,
                 .tag = {.class_id = flow.stream.class_id, .level = flow.stream.level, .layer = 0}},
      .message_first_psn = descriptor.first_psn,
      .stream = flow.stream};
  FillBudget& budget = streams_[flow.stream].budget;
  // What is pending has been paid for.
  PendingFill* earlier = pending_fill(flow, fill.record);
  if (earlier == nullptr) {
    if (ledger_.full()) return refuse(Event::kFillRefusedLedgerFull);
    switch (budget.fill(payload_bytes, message.fill)) {
      case FillDecision::kGranted:
        break;
      case FillDecision::kOverBudget:
        return refuse(Event::kFillRefusedBudget);
      case FillDecision::kOverMessageCap:
        return refuse(Event::kFillRefusedMessageCap);
    }
  }
  const auto frame = build_filled_frame(io_, flow.path, message, flow.key.dest_qpn, psn);
  if (!frame) {
    if (earlier == nullptr) budget.cancel(payload_bytes, message.fill);
    return refuse(Event::kRecoveryNoFrame);
  }
  arrivals_.add_filled(flow.handle, psn, flow.epoch, *frame, now);
  const roce::PacketHeaders headers = filled_headers(message, flow.key.dest_qpn, psn);
  flow.order.advance(
      {.psn = psn, .op = &roce::opcode_info(headers.bth.opcode), .read_length_bytes = 0, .resent = false});
  if (earlier == nullptr) {
    ledger_.add(flow.handle, fill);
  } else {
    earlier->record.at = now;
    count(Event::kFilledAgain, flow);
  }
  count(Event::kFilled, flow);
  count(Event::kFilledBytes, flow, payload_bytes);
  io_.send(Port::kLan, *frame);
  return FillOutcome::kFilled;
}

// The fill of the same bytes that no answer has settled yet; one of another message at this PSN is of another life.
PendingFill* Restorer::pending_fill(const RxFlow& flow, const FillRecord& record) {
  PendingFill* pending = ledger_.find(flow.handle, record.psn);
  if (pending == nullptr) return nullptr;
  if (pending->record.va == record.va && pending->record.rkey == record.rkey &&
      pending->record.offset_bytes == record.offset_bytes)
    return pending;
  ledger_.take(flow.handle, record.psn, [&](const PendingFill& fill) { report_fill(fill, fill.record.at); });
  return nullptr;
}

void Restorer::report_fill(const PendingFill& fill, Time now) {
  FillRecord record = fill.record;
  record.at = now;
  counters_.add(Event::kFillReported, record.tag.class_id);
  fill_sink_.on_fill(record);
}

// The receiver has all before `until`.
void Restorer::fills_acknowledged(FlowHandle flow, Psn until, Time now) {
  if (ledger_.empty()) return;
  ledger_.take_before(flow, until, [&](const PendingFill& fill) { report_fill(fill, now); });
}

// The true packet goes to the receiver; if the receiver threw the zeros away, none of them will be in memory.
void Restorer::cancel_fill(RxFlow& flow, Psn psn) {
  if (ledger_.empty()) return;
  const PendingFill* pending = ledger_.find(flow.handle, psn);
  if (pending == nullptr || !flow.order.thrown_away_since(pending->record.at, psn)) return;
  ledger_.take(flow.handle, psn, [&](const PendingFill& fill) {
    counters_.add(Event::kFillCancelled, fill.stream.class_id);
    LoggedMessage* message = flow.messages.find(psn);
    MessageFill forgotten{.message_bytes = 0, .filled_bytes = fill.record.payload_bytes};
    const bool known = message != nullptr && message->descriptor.first_psn == fill.message_first_psn;
    streams_[fill.stream].budget.cancel(fill.record.payload_bytes, known ? message->fill : forgotten);
  });
}

// Nobody will tell any more what became of them.
void Restorer::report_unanswered_fills(const RxFlow& flow) {
  ledger_.take_all(flow.handle, [&](const PendingFill& fill) { report_fill(fill, fill.record.at); });
}

// Whose answers are another flow's, as far as is known.
void Restorer::report_orphaned_fills() {
  if (ledger_.empty()) return;
  ledger_.take_where([&](FlowHandle flow, const PendingFill&) { return !pairing_.paired(flow); },
                     [&](const PendingFill& fill) { report_fill(fill, fill.record.at); });
}

// A fill asks for an acknowledgement. Where none comes, and nothing is to be sent again, the answers of this flow may go
// to another's account, and an agent that dies takes its unreported fills with it.
void Restorer::report_overdue_fills(Time now) {
  if (ledger_.empty()) return;
  const auto overdue = [&](FlowHandle handle, const PendingFill& fill) {
    const FlowOrder& order = flows_.find(handle)->order;
    return now - fill.record.at > kAnswerTakes && !order.rewind_expected_at(now) &&
           !order.thrown_away_since(fill.record.at, fill.record.psn);
  };
  ledger_.take_where(overdue, [&](const PendingFill& fill) { report_fill(fill, fill.record.at); });
}

}  // namespace weft::recovery
