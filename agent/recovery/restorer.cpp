#include "agent/recovery/restorer.h"

#include <algorithm>

#include "agent/recovery/hold_bound.h"

namespace weft::recovery {
namespace {

using roce::Operation;
using roce::Psn;
using roce::Transport;

constexpr Time kHousekeepingPeriod = std::chrono::milliseconds(20);
// Longer than the sender waits before it announces a silent flow again.
constexpr Time kFlowIdle = std::chrono::seconds(30);
// Lists come within the hold bound or they come too late.
constexpr Time kKeepAge = std::chrono::milliseconds(250);
constexpr Time kMissingAge = std::chrono::milliseconds(500);
constexpr std::size_t kFlowsLookedAtPerRound = 256;
// What is let go at a time when the pool runs low.
constexpr std::size_t kShedFrames = 64;

bool worth_keeping(const roce::OpcodeInfo& op) {
  // Acknowledgements are guarded by copies and never coded.
  return op.operation != Operation::kAcknowledge;
}

}  // namespace

Restorer::Restorer(FrameIo& io, const PolicyTable& policy, const RestorerLimits& limits, Counters& counters,
                   FillSink& fill_sink)
    : io_(io),
      policy_(policy),
      limits_(limits),
      counters_(counters),
      fill_sink_(fill_sink),
      flows_(limits.flows),
      notices_(limits.flow_notices),
      arrivals_(io, limits.arrival_records, limits.kept_frames),
      missing_(limits.missing_packets),
      blocks_(limits.blocks, limits.symbol_bytes),
      streams_(policy),
      pairing_(flows_),
      ledger_(limits.pending_fills) {}

Restorer::~Restorer() {
  flows_.for_each([&](RxFlow& flow) {
    release_all_held(flow);
    report_unanswered_fills(flow);
  });
  arrivals_.clear();
}

Time Restorer::hold_bound() const { return recovery::hold_bound(rtt_, limits_.endpoint_timeout); }

RxFlow* Restorer::flow_of(const roce::FlowKey& key, const roce::PacketView& view, Time now) {
  RxFlow* flow = flows_.find(key);
  if (flow == nullptr) {
    flow = flows_.add(key);
    if (flow == nullptr) {
      counters_.add(Event::kFlowRefused, kClassExact);
      return nullptr;
    }
    if (!housekeeping_at_) housekeeping_at_ = now + kHousekeepingPeriod;
    if (!key.response) pairing_.add_request_flow(*flow);
  }
  flow->transport = view.op().transport;
  flow->last_packet_at = now;
  return flow;
}

// Whether an old PSN came again because the sender sent it again, not because the network duplicated or delayed it:
// it has other bytes, or comes too late for that.
bool Restorer::evidently_resent(const RxFlow& flow, const roce::PacketView& view, Time now) {
  if (!flow.order.started() || !roce::psn_before(view.psn(), flow.order.next())) return false;
  const Arrivals::Record* earlier = arrivals_.find_psn(flow.handle, view.psn(), flow.epoch);
  if (earlier == nullptr) return true;
  const bool same_bytes = earlier->filled || earlier->name.fingerprint == view.fingerprint();
  return !same_bytes || now - earlier->at > reorder_.value() + rtt_ / 2;
}

void Restorer::note_arrival(RxFlow& flow, const SourceName& name, FrameId frame, const roce::PacketView& view,
                            Time now) {
  flow.path = PathHeaders(io_.bytes(frame), view);
  if (!flow.first_seen) flow.first_seen = {.psn = view.psn(), .at = now};
  if (!missing_.empty()) {
    missing_.arrived(name, [&](const MissingPacket& packet) {
      streams_[packet.stream].judge.late(packet.ordinal);
      if (packet.block == kNoBlock) return;
      blocks_[packet.block].missing.reset(packet.column);
      touched_blocks_.push_back(packet.block);
    });
  }
  const std::size_t let_go = arrivals_.add(name, flow.epoch, frame, worth_keeping(view.op()), now);
  if (let_go > 0) count(Event::kKeptEvicted, flow, let_go);
}

// A UC or UD receiver would take a second copy for something new; an RC receiver answers it.
bool Restorer::is_second_copy(const RxFlow& flow, const SourceName& name) {
  if (!flow.announced || flow.transport == Transport::kRc) return false;
  return recovered_.contains(name) || (flow.transport == Transport::kUc && arrivals_.find(name) != nullptr);
}

void Restorer::on_source(FrameId frame, const roce::PacketView& view, Time now) {
  if (io_.scarce()) shed_if_scarce(now);
  // A congestion notification goes to a queue pair but belongs to none of its orders, and may not wait.
  RxFlow* flow = view.op().operation == Operation::kCongestionNotification
                     ? nullptr
                     : flow_of(view.flow_key(), view, now);
  if (flow == nullptr) {
    counters_.add(Event::kSourceUntracked, kClassExact);
    io_.send(Port::kLan, frame);
    return;
  }
  count(Event::kSourceReceived, *flow);
  count(Event::kSourceReceivedBytes, *flow, view.ip_packet_bytes());
  if (!flow->announced) count(Event::kSourceUntracked, *flow);
  if (view.ecn() == roce::kEcnCe) {
    ++losses_.ce_marked_packets;
    count(Event::kSourceCeMarked, *flow);
  }
  const bool sound = view.icrc_ok();
  if (!sound && flow->announced) {  // an erasure
    count(Event::kSourceBadIcrc, *flow);
    io_.release(frame);
    return;
  }
  const SourceName name{flow->handle, view.psn(), view.fingerprint()};
  if (is_second_copy(*flow, name)) {
    count(Event::kDuplicateDropped, *flow);
    io_.release(frame);
    return;
  }
  OrderFacts facts = OrderFacts::of(view);
  facts.resent = evidently_resent(*flow, view, now);
  if (sound) note_arrival(*flow, name, frame, view, now);
  if (flow->transport == Transport::kUd) {
    io_.send(Port::kLan, frame);
  } else {
    learn_from(*flow, view);
    put_in_order(*flow, HeldPacket::of(view, facts, frame, now), Origin::kWan, now);
  }
  if (!touched_blocks_.empty()) decode_touched_blocks(now);
}

void Restorer::on_passed(FrameId frame, const roce::PacketView& view, Time now) {
  const roce::FlowKey key = view.flow_key();
  RxFlow* flow = nullptr;
  if (key.response) {
    flow = flow_of(key, view, now);  // copies of its acknowledgements may be on the way
  } else if (view.op().operation != Operation::kCongestionNotification) {
    flow = flows_.find(key);
  }
  if (flow != nullptr) {
    if (flow->order.started()) begin_epoch(*flow);
    flow->order.restart();
    note_answer(*flow, HeldPacket::of(view, OrderFacts::of(view), frame, now));
  }
  io_.send(Port::kLan, frame);
}

// PMTU, and the message a FIRST packet begins: the rest of it could be filled from that.
void Restorer::learn_from(RxFlow& flow, const roce::PacketView& view) {
  if (view.op().is_response() || view.op().ends_message()) return;
  const auto payload_bytes = static_cast<std::uint32_t>(view.payload_bytes());
  flow.order.learn_pmtu(payload_bytes);
  if (!flow.announced || !view.op().is_rc_write() || !view.op().starts_message()) return;
  if (!policy_.classes[flow.stream.class_id].may_fill(flow.stream.level)) return;
  const roce::Bth bth = view.bth();
  flow.messages.add({.flow = 0,
                     .first_psn = bth.psn,
                     .pmtu_bytes = static_cast<std::uint16_t>(payload_bytes),
                     .reth = *view.reth(),
                     .pkey = bth.pkey,
                     .mig_req = bth.mig_req,
                     .end = std::nullopt});
}

void Restorer::note_answer(RxFlow& flow, const HeldPacket& packet) {
  if (!flow.key.response) return;
  if (packet.ack) {
    flow.acks.delivered(*packet.ack);
  } else {
    flow.acks.delivered_data(packet.facts.psn);
  }
}

// What passes out of turn, or behind what the receiver has asked for again, is thrown away by it, and earns when it comes
// again in its turn.
void Restorer::earn_budget(RxFlow& flow, const HeldPacket& packet) {
  if (!flow.announced || !flow.order.in_step() || flow.order.rewind_expected()) return;
  if (flow.earned_until && roce::psn_before(packet.facts.psn, *flow.earned_until)) return;
  flow.earned_until = packet.facts.psn + 1;
  streams_[flow.stream].budget.delivered(packet.payload_bytes);
}

// Hands a packet to the receiver, and keeps the accounts of what it has.
void Restorer::deliver(RxFlow& flow, const HeldPacket& packet, Turn turn) {
  note_answer(flow, packet);
  if (turn == Turn::kItsOwn) earn_budget(flow, packet);
  if (turn != Turn::kOld) cancel_fill(flow, packet.facts.psn);
  io_.send(Port::kLan, packet.frame);
}

void Restorer::put_in_order(RxFlow& flow, const HeldPacket& packet, Origin origin, Time now) {
  const bool had_gap = flow.gap_since && !flow.held.empty();
  switch (flow.order.arrive(packet.facts, flow.first_held(), flow.ordered(), now, resend_delay())) {
    case Verdict::kInOrder:
      if (origin == Origin::kWan && had_gap) {
        reorder_.observe_late(now - *flow.gap_since, rtt_, now);
        count(Event::kHeldClosedByArrival, flow);
      }
      deliver(flow, packet, Turn::kItsOwn);
      if (!flow.gap_since && flow.held.empty()) break;
      drain(flow);
      update_gap(flow, now);
      break;
    case Verdict::kOld:
      note_old(flow, packet);
      deliver(flow, packet, Turn::kOld);
      break;
    case Verdict::kPassing:
      deliver(flow, packet, Turn::kAhead);
      break;
    case Verdict::kAhead:
      hold(flow, packet, now);
      break;
    case Verdict::kNewEpoch:
      count(Event::kSourceEpochChange, flow);
      send_all_held(flow);
      begin_epoch(flow);
      // The packet that showed it belongs to the new one.
      if (Arrivals::Record* record = arrivals_.find_psn(flow.handle, packet.facts.psn, flow.epoch - 1)) {
        record->epoch = flow.epoch;
      }
      deliver(flow, packet, Turn::kItsOwn);
      break;
  }
}

void Restorer::decode_touched_blocks(Time now) {
  while (!touched_blocks_.empty()) {
    const std::uint32_t slot = touched_blocks_.back();
    touched_blocks_.pop_back();
    try_decode(slot, now);
  }
}

void Restorer::note_old(const RxFlow& flow, const HeldPacket& packet) {
  count(Event::kSourceRetransmission, flow);
  const Arrivals::Record* made_up = arrivals_.find_filled(flow.handle, packet.facts.psn, flow.epoch);
  if (made_up != nullptr && !packet.facts.resent) count(Event::kFilledLateArrival, flow);
}

void Restorer::drain(RxFlow& flow) {
  while (!flow.held.empty()) {
    const OrderFacts& facts = flow.held.front().facts;
    const bool overtaken = roce::psn_before(facts.psn, flow.order.next());
    if (!overtaken && !flow.order.is_next(facts)) break;
    const HeldPacket packet = flow.held.take_front();
    if (!overtaken) flow.order.advance(packet.facts);
    --held_frames_;
    deliver(flow, packet, overtaken ? Turn::kOld : Turn::kItsOwn);
  }
}

void Restorer::hold(RxFlow& flow, const HeldPacket& packet, Time now) {
  if (const auto needless = flow.held.insert(packet)) {
    count(Event::kDuplicateDropped, flow);
    io_.release(*needless);
    return;
  }
  ++held_frames_;
  // What may not wait goes at once, with all that waits, and counts as forwarded like them.
  if (hold_bound() == Time::zero()) return give_up(flow, Event::kReleasedTimeout, now);
  if (held_frames_ > limits_.held_frames) return give_up(flow, Event::kReleasedCap, now);
  count(Event::kHeld, flow);
  // Behind the same gap as the others, nothing changes.
  if (flow.held.size() == 1 || flow.held.front().frame == packet.frame) update_gap(flow, now);
}

void Restorer::begin_epoch(RxFlow& flow) {
  report_unanswered_fills(flow);
  ++flow.epoch;
  flow.epoch_agreed = false;
  flow.earned_until.reset();
  flow.proven_until.reset();
  flow.gap_since.reset();
  flow.messages.clear();
}

void Restorer::send_all_held(RxFlow& flow) {
  while (!flow.held.empty()) {
    deliver(flow, flow.held.take_front(), Turn::kAhead);
    --held_frames_;
  }
}

void Restorer::release_all_held(RxFlow& flow) {
  while (!flow.held.empty()) {
    io_.release(flow.held.take_front().frame);
    --held_frames_;
  }
}

void Restorer::remove_flow(RxFlow& flow) {
  send_all_held(flow);
  report_unanswered_fills(flow);
  if (!flow.key.response) pairing_.remove_request_flow(flow);
  tell_forgotten(flow);
  flows_.remove(flow);
}

void Restorer::shed_if_scarce(Time now) {
  if (const std::size_t let_go = arrivals_.drop_oldest_frames(kShedFrames); let_go > 0) {
    counters_.add(Event::kKeptEvicted, kClassExact, let_go);
    return;
  }
  // Nothing kept is left: what is held goes, one flow at a time, the one whose gap is oldest first.
  RxFlow* oldest = nullptr;
  for (const FlowHandle handle : gaps_) {
    RxFlow* flow = flows_.find(handle);
    if (flow == nullptr || flow->held.empty()) continue;
    if (oldest == nullptr || *flow->gap_since < *oldest->gap_since) oldest = flow;
  }
  if (oldest != nullptr) give_up(*oldest, Event::kReleasedScarce, now);
}

void Restorer::fill_feedback(wire::Feedback& feedback, Time now) {
  feedback.covered.clear();
  streams_.for_each([&](wire::StreamId id, RxStream& stream) {
    stream.judge.settle(now, losses_);
    if (stream.judge.started() && feedback.covered.size() < wire::kMaxCovered)
      feedback.covered.push_back({.stream = id, .ordinal = stream.judge.covered()});
  });
  feedback.loss = losses_;
  feedback.confirmed_flows = ids_.take_confirmations();
}

void Restorer::tick(Time now) {
  if (io_.scarce()) shed_if_scarce(now);
  for (std::size_t i = 0; i < blocks_.waiting().size();) {
    const std::uint32_t slot = blocks_.waiting()[i];
    if (blocks_[slot].expires_at <= now) {
      fail_block(slot, now);
      continue;
    }
    if (!blocks_[slot].hopeless && blocks_[slot].give_up_at <= now) give_up_block(slot, now);
    ++i;
  }
  for (std::size_t i = 0; i < gaps_.size();) {
    RxFlow* flow = flows_.find(gaps_[i]);
    if (flow != nullptr && flow->gap_since && flow->look_at <= now) resolve(*flow, now);
    if (flow != nullptr && flow->gap_since) {
      ++i;
      continue;
    }
    if (flow != nullptr) flow->in_gaps = false;
    gaps_[i] = gaps_.back();
    gaps_.pop_back();
  }
  if (housekeeping_at_ && *housekeeping_at_ <= now) housekeeping(now);
}

void Restorer::housekeeping(Time now) {
  housekeeping_at_ = now + kHousekeepingPeriod;
  arrivals_.drop_frames_before(now - kKeepAge);
  if (!missing_.empty()) missing_.expire(now - kMissingAge);
  report_overdue_fills(now);
  for (std::size_t looked_at = 0; looked_at < std::min(kFlowsLookedAtPerRound, flows_.slots()); ++looked_at) {
    RxFlow* flow = flows_.at_slot(expiry_cursor_++ % flows_.slots());
    if (flow == nullptr) continue;
    tell_again_if_silent(*flow, now);
    if (now - flow->last_packet_at < kFlowIdle) continue;
    count(Event::kFlowEvicted, *flow);
    remove_flow(*flow);
  }
  if (flows_.size() == 0) housekeeping_at_.reset();
}

std::optional<Time> Restorer::next_deadline() const {
  std::optional<Time> deadline = housekeeping_at_;
  const auto wake_at = [&](Time at) { deadline = deadline ? std::min(*deadline, at) : at; };
  for (const FlowHandle handle : gaps_) {
    const RxFlow* flow = flows_.find(handle);
    if (flow != nullptr && flow->gap_since) wake_at(flow->look_at);
  }
  for (const std::uint32_t slot : blocks_.waiting())
    wake_at(blocks_[slot].hopeless ? blocks_[slot].expires_at : blocks_[slot].give_up_at);
  return deadline;
}

void Restorer::peer_lost() {
  flows_.for_each([&](RxFlow& flow) {
    if (!flow.held.empty()) count(Event::kReleasedPeerLost, flow, flow.held.size());
    send_all_held(flow);
  });
  restart_orders();
}

void Restorer::peer_restarted(Time now) {
  ids_.clear();
  blocks_.clear();
  missing_.clear();
  streams_.clear();
  flows_.for_each([&](RxFlow& flow) {
    if (!flow.held.empty()) give_up(flow, Event::kReleasedPeerLost, now);
    report_unanswered_fills(flow);  // the budgets they were taken from are gone
    flow.announced = false;
    flow.epoch_agreed = false;
    flow.proven_until.reset();
    flow.gap_since.reset();
  });
}

void Restorer::drop_stale() {
  flows_.for_each([&](RxFlow& flow) {
    if (!flow.held.empty()) count(Event::kStaleDropped, flow, flow.held.size());
    release_all_held(flow);
  });
  restart_orders();
}

void Restorer::restart_orders() {
  flows_.for_each([&](RxFlow& flow) {
    begin_epoch(flow);
    flow.order.restart();
    flow.acks = AckOrder();
    flow.first_seen.reset();
    flow.in_gaps = false;
  });
  gaps_.clear();
  arrivals_.clear();
  blocks_.clear();
  missing_.clear();
  streams_.clear();
  recovered_.clear();
}

void Restorer::list_flows(std::string_view peer, bool same_classes, NewestFlows& out) const {
  flows_.for_each([&](const RxFlow& flow) {
    out.add({.peer = peer,
             .sending = false,
             .key = flow.key,
             .announced = flow.announced,
             .arriving = flow.arriving(),
             .stream = flow.stream,
             .class_known = same_classes,
             .id = std::nullopt,
             .epoch = flow.epoch,
             .held_frames = flow.held.size(),
             .paired = pairing_.paired(flow.handle),
             .last_packet_at = flow.last_packet_at});
  });
}

}  // namespace weft::recovery
