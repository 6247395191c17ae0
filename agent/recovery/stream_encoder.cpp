#include "agent/recovery/stream_encoder.h"

#include <algorithm>
#include <chrono>

namespace weft::recovery {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Nothing follows the end of a message when this many packet times have passed in silence...
constexpr int kLingerPackets = 4;
constexpr Time kMinLinger = microseconds(100);
constexpr Time kMaxLinger = milliseconds(1);
// ... and nothing follows in its middle (a window is full, a sender has stopped) after this many.
constexpr int kIdlePackets = 16;
constexpr Time kMinIdle = milliseconds(1);
constexpr Time kMaxIdle = milliseconds(5);
// A pause is not spacing.
constexpr Time kMaxSpacing = milliseconds(1);

// The first packet of a message whose other packets' headers follow from it. A responder refuses one that
// breaks these rules, so there would be nothing to fill.
bool is_fillable_start(const roce::PacketView& view, std::uint32_t min_message_bytes) {
  if (!view.op().is_rc_write() || view.op().position != roce::Position::kFirst) return false;
  const std::uint32_t length_bytes = view.reth()->length_bytes;
  return roce::is_pmtu(static_cast<std::uint32_t>(view.payload_bytes())) &&
         length_bytes > view.payload_bytes() && length_bytes >= min_message_bytes;
}

// Streams of different VLAN stacks are alike in feedback but for their ordinals.
constexpr std::uint32_t kOrdinalsApart = UINT32_MAX / wire::kMaxPaths + 1;

}  // namespace

StreamEncoder::StreamEncoder(wire::StreamId stream, const Links& links)
    : stream_(stream),
      links_(links),
      pacer_({links.sender, links.counters, links.pool, links.estimate}),
      manifests_(stream, {links.sender, links.counters, links.estimate}),
      next_ordinal_(stream.path * kOrdinalsApart) {}

StreamEncoder::~StreamEncoder() { reset(); }

void StreamEncoder::on_packet(const SourcePacket& packet, Time now) {
  if (const Time gap = now - last_packet_at_; gap < kMaxSpacing) spacing_ += (gap - spacing_) / 16;
  last_packet_at_ = now;
  rate_.on_packet(packet.view.ip_packet_bytes(), now);
  quiet_pending_ = true;
  at_message_end_ = packet.view.op().ends_message();
  if (!code(packet, now)) {
    links_.counters.add(Event::kSourceUncoded, stream_.class_id);
    manifests_.add_packet(next_ordinal_++, packet.flow.id, packet.view.psn(), packet.path, now);
  }
  describe_message(packet, now);
}

bool StreamEncoder::code(const SourcePacket& packet, Time now) {
  if (open_ == nullptr && !open_group(packet, now)) return false;
  const fec::SourceSymbol symbol(packet.view.ipv6(), packet.view.ip_packet());
  if (!packet.view.complete() || !open_->symbol_fits(symbol.bytes())) {
    links_.counters.add(Event::kEncodeSkippedTooLarge, stream_.class_id);
    // The group's ordinals are consecutive, so this packet's, which is not in it, comes after them.
    close_group(Event::kGroupClosedList, now);
    return false;
  }
  if (!open_->same_network(packet.flow.key) || !add_to_group(packet, symbol, now)) {
    close_group(Event::kGroupClosedList, now);
    if (!open_group(packet, now) || !add_to_group(packet, symbol, now)) return false;
  }
  if (open_->full()) close_group(Event::kGroupClosedFull, now);
  return true;
}

bool StreamEncoder::add_to_group(const SourcePacket& packet, const fec::SourceSymbol& symbol, Time now) {
  const wire::Repair::Source source{
      .flow = packet.flow.id, .psn = packet.view.psn(), .fingerprint = packet.view.fingerprint()};
  if (!open_->add(source, symbol, packet.view.ecn() == roce::kEcnCe)) return false;
  open_->note_packet(packet.flow.key, packet.path, now);
  ++next_ordinal_;
  return true;
}

bool StreamEncoder::open_group(const SourcePacket& packet, Time now) {
  std::optional<GroupPlan> plan = links_.planner.plan(
      stream_, {.packets_per_second = rate_.packets_per_second(), .packet_bytes = rate_.largest_bytes()},
      packet.view.ipv6());
  if (!plan) return false;
  // A group that could not send one row of repairs would cost time and protect nothing. What its own packets will earn
  // by the time it closes counts.
  const double earned = links_.planner.policy().fec.max_overhead * plan->k * plan->interleave *
                        static_cast<double>(rate_.largest_bytes());
  const double row_bytes = static_cast<double>(plan->repair_bytes) / plan->r;
  if (static_cast<double>(links_.sender.repair_budget_bytes()) + earned < row_bytes) {
    links_.counters.add(Event::kEncodeSkippedOverhead, stream_.class_id);
    return false;
  }
  open_ = links_.pool.take();
  if (open_ == nullptr && pacer_.give_up_tail()) open_ = links_.pool.take();
  if (open_ == nullptr) {
    links_.counters.add(Event::kEncodeSkippedNoGroup, stream_.class_id);
    return false;
  }
  open_->open(stream_, next_ordinal_, *plan, now);
  return true;
}

void StreamEncoder::close_group(Event reason, Time now) {
  if (open_->packets() == 0) {
    links_.pool.give_back(std::move(open_));
    return;
  }
  links_.counters.add(reason, stream_.class_id);
  const GroupPlan& plan = open_->plan();
  // As many rows as the budget can pay for behind those that are waiting to be sent, but one at least.
  const std::size_t budget = links_.sender.repair_budget_bytes();
  const std::size_t waiting = std::min(budget, pacer_.unsent_bytes());
  const unsigned affordable = std::max(
      1U, static_cast<unsigned>((budget - waiting) / std::max<std::size_t>(plan.repair_bytes / plan.r, 1)));
  bool weakened = false;
  open_->close([&](unsigned k) {
    const unsigned wanted = links_.planner.rows_for(stream_, plan, k);
    weakened |= wanted > affordable;
    return std::min(wanted, affordable);
  });
  if (weakened) links_.counters.add(Event::kGroupWeakened, stream_.class_id);
  pacer_.submit(std::move(open_), now);
}

void StreamEncoder::describe_message(const SourcePacket& packet, Time now) {
  const roce::PacketView& view = packet.view;
  const PolicyTable& policy = links_.planner.policy();
  if (!policy.classes[stream_.class_id].may_fill(stream_.level)) return;
  std::optional<wire::MessageDescriptor>& message = packet.flow.message;
  if (is_fillable_start(view, policy.min_fill_message_bytes)) {
    const roce::Bth bth = view.bth();
    message = wire::MessageDescriptor{.flow = packet.flow.id,
                                      .first_psn = bth.psn,
                                      .pmtu_bytes = static_cast<std::uint16_t>(view.payload_bytes()),
                                      .reth = *view.reth(),
                                      .pkey = bth.pkey,
                                      .mig_req = bth.mig_req,
                                      .end = std::nullopt};
    manifests_.add_descriptor(*message, packet.path, now);
    return;
  }
  if (!message || view.op().position != roce::Position::kLast || !view.op().is_rc_write()) return;
  const std::uint32_t packets = roce::packets_for(message->reth.length_bytes, message->pmtu_bytes);
  if (message->first_psn + (packets - 1) != view.psn()) return;
  message->end = {.solicited_event = view.bth().solicited_event, .imm = view.imm()};
  manifests_.add_descriptor(*message, packet.path, now);
  message.reset();
}

Time StreamEncoder::quiet_deadline() const {
  const Time wait = at_message_end_ ? std::clamp(spacing_ * kLingerPackets, kMinLinger, kMaxLinger)
                                    : std::clamp(spacing_ * kIdlePackets, kMinIdle, kMaxIdle);
  return last_packet_at_ + wait;
}

void StreamEncoder::tick(Time now) {
  if (quiet_pending_ && quiet_deadline() <= now) {
    quiet_pending_ = false;
    if (open_ != nullptr)
      close_group(at_message_end_ ? Event::kGroupClosedMessageEnd : Event::kGroupClosedTimer, now);
    pacer_.end_of_message(spacing_, now);
    manifests_.flush_tail(spacing_, now);
  } else if (open_ != nullptr && open_->opened_at() + links_.planner.longest_span() <= now) {
    close_group(Event::kGroupClosedTimer, now);
  }
  pacer_.tick(now);
  manifests_.tick(now);
}

std::optional<Time> StreamEncoder::next_deadline() const {
  std::optional<Time> next = pacer_.next_deadline();
  const auto consider = [&next](Time at) {
    if (!next || at < *next) next = at;
  };
  if (const auto manifest = manifests_.next_deadline()) consider(*manifest);
  if (quiet_pending_) consider(quiet_deadline());
  if (open_ != nullptr) consider(open_->opened_at() + links_.planner.longest_span());
  return next;
}

void StreamEncoder::on_covered(std::uint32_t ordinal) {
  pacer_.on_covered(ordinal);
  manifests_.on_covered(ordinal);
}

void StreamEncoder::reset() {
  if (open_ != nullptr) links_.pool.give_back(std::move(open_));
  pacer_.clear();
  manifests_.clear();
  quiet_pending_ = false;
}

}  // namespace weft::recovery
