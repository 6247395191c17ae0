#include "agent/recovery/encoder.h"

#include <algorithm>

namespace weft::recovery {
namespace {

// A peer's announcement packets stay within the smallest path's MTU: 24 IPv6 flows of 41 bytes each.
constexpr std::size_t kMaxFlowsPerAnnouncement = 24;
// PSNs a READ request consumes depend on the path MTU, which the request does not tell. The largest gives the
// fewest, and the response data is then at most 16 times that: far inside the epoch window for what an
// endpoint may have outstanding.
constexpr std::uint32_t kReadPmtuBytes = roce::kMaxPmtuBytes;

std::uint32_t psns_of(const roce::PacketView& view) {
  if (view.op().operation != roce::Operation::kReadRequest) return 1;
  return roce::packets_for(view.reth()->length_bytes, kReadPmtuBytes);
}

bool same_network(const roce::FlowKey& a, const roce::FlowKey& b) {
  return a.vlan_count == b.vlan_count && a.vids == b.vids;
}

}  // namespace

Encoder::Encoder(FrameIo& io, const PolicyTable& policy, WeftSender& sender, Counters& counters,
                 const EncoderLimits& limits)
    : io_(io),
      counters_(counters),
      sender_(sender),
      planner_(policy,
               {.endpoint_timeout = limits.endpoint_timeout, .wan_mtu_bytes = sender.wan_mtu_bytes()}),
      pool_(limits.max_groups, sender.max_body_bytes()),
      flows_(limits.max_flows),
      guard_(limits.max_guarded_flows),
      ack_class_(policy.find("ack").value_or(kClassExact)) {
  announcement_.flows.reserve(kMaxFlowsPerAnnouncement);
}

void Encoder::on_source(FrameId frame, const roce::PacketView& view, Tag tag, Time now) {
  const PathHeaders path(io_.bytes(frame), view);
  // Kept while the packet is coded; the bytes do not move.
  io_.retain(frame);
  io_.send(Port::kWan, frame);
  counters_.add(Event::kSourceSent, tag.class_id);
  counters_.add(Event::kSourceSentBytes, tag.class_id, view.ip_packet_bytes());
  sender_.note_source_sent(view.ip_packet_bytes(), path);
  if (sender_.ready())
    encode(view, path, tag, now);
  else
    counters_.add(Event::kEncodeSkippedNoPeer, tag.class_id);
  io_.release(frame);
}

void Encoder::encode(const roce::PacketView& view, const PathHeaders& path, Tag tag, Time now) {
  // Only connected transports number their packets.
  const roce::Transport transport = view.op().transport;
  if (transport != roce::Transport::kRc && transport != roce::Transport::kUc) return;
  const roce::FlowKey key = view.flow_key();
  if (key.response) {
    if (planner_.policy().fec.ack_guard) {
      if (!guard_.on_response(key, view, path, now)) counters_.add(Event::kAckCopyEvicted, ack_class_);
      wake_at(guard_.next_deadline());
    }
    if (view.op().operation == roce::Operation::kAcknowledge) return;
  }
  const wire::StreamId id{.class_id = tag.class_id,
                          .level = static_cast<std::uint8_t>(tag.level % kLevels),
                          .path = paths_.of(key)};
  TxFlow* flow = flows_.on_packet(key, id, view.psn(), psns_of(view), path, now);
  if (flow == nullptr) {
    counters_.add(Event::kEncodeSkippedFlowCap, tag.class_id);
    return;
  }
  StreamEncoder& stream = stream_of(id);
  stream.on_packet({.view = view, .path = path, .flow = *flow}, now);
  wake_at(flows_.next_announcement());
  wake_at(stream.next_deadline());
}

StreamEncoder& Encoder::stream_of(wire::StreamId id) {
  std::unique_ptr<StreamEncoder>& stream = streams_[slot_of(id)];
  if (stream == nullptr) {
    stream = std::make_unique<StreamEncoder>(
        id, StreamEncoder::Links{sender_, counters_, pool_, planner_, estimate_});
    active_streams_.push_back(stream.get());
  }
  return *stream;
}

// Feedback does not say which VLAN stack it speaks of. Their ordinals begin far apart, so the nearest is meant.
StreamEncoder* Encoder::covered_stream(const wire::Feedback::Covered& covered) const {
  StreamEncoder* nearest = nullptr;
  std::uint32_t least = UINT32_MAX;
  for (wire::StreamId id = covered.stream; id.path < kMaxPaths; ++id.path) {
    StreamEncoder* stream = streams_[slot_of(id)].get();
    if (stream == nullptr) continue;
    const std::uint32_t ahead = stream->next_ordinal() - covered.ordinal;
    const std::uint32_t distance = std::min(ahead, 0 - ahead);
    if (nearest != nullptr && distance >= least) continue;
    nearest = stream;
    least = distance;
  }
  return nearest;
}

void Encoder::on_feedback(const wire::Feedback& feedback, std::optional<Time> rtt) {
  flows_.confirm(feedback.confirmed_flows);
  if (rtt) estimate_.rtt = *rtt;
  estimate_.feedback_period = std::chrono::microseconds(feedback.period_us);
  for (const wire::Feedback::Covered& covered : feedback.covered) {
    if (StreamEncoder* stream = covered_stream(covered)) stream->on_covered(covered.ordinal);
  }
  planner_.on_feedback(feedback.loss, rtt);
  estimate_.burst_packets = planner_.burst_packets();
}

void Encoder::agree(const PeerTerms& terms) {
  sender_.set_wan_mtu(terms.wan_mtu_bytes);
  pool_.set_max_body(sender_.max_body_bytes());
  planner_.set_peer(terms.wan_mtu_bytes, terms.peer_decodes);
}

void Encoder::reset() {
  for (StreamEncoder* stream : active_streams_)
    stream->reset();
  flows_.forget_confirmations();
  guard_.clear();
  planner_.reset();
  find_deadline();
}

void Encoder::set_policy(const PolicyTable& policy) {
  planner_.set_policy(policy);
  ack_class_ = policy.find("ack").value_or(kClassExact);
}

void Encoder::tick(Time now) {
  if (!deadline_ || now < *deadline_) return;
  if (sender_.ready()) {
    announce(now);
    send_copies(now);
    for (StreamEncoder* stream : active_streams_)
      stream->tick(now);
  }
  flows_.expire(now);
  find_deadline();
}

void Encoder::announce(Time now) {
  // The receiver takes the VLAN stack from the announcement's frame: one packet speaks of one.
  const TxFlow* first = nullptr;
  const auto flush = [&] {
    if (first == nullptr) return;
    sender_.send(wire::PacketType::kAnnouncement, first->stream.class_id, first->path, announcement_, now);
    announcement_.flows.clear();
    first = nullptr;
  };
  while (const TxFlow* flow = flows_.take_due_announcement(now, estimate_.rtt)) {
    if (announcement_.flows.size() == kMaxFlowsPerAnnouncement ||
        (first != nullptr && !same_network(first->key, flow->key)))
      flush();
    if (first == nullptr) first = flow;
    announcement_.flows.push_back(
        {.id = flow->id, .epoch = flow->epoch, .stream = flow->stream, .key = flow->key});
  }
  flush();
}

void Encoder::send_copies(Time now) {
  guard_.tick(now, [&](const PathHeaders& path, ByteView ip_packet) {
    sender_.send(wire::PacketType::kAckCopy, ack_class_, path, wire::AckCopy{ip_packet}, now);
  });
}

void Encoder::wake_at(std::optional<Time> at) {
  if (at && (!deadline_ || *at < *deadline_)) deadline_ = at;
}

void Encoder::find_deadline() {
  deadline_.reset();
  wake_at(flows_.next_announcement());
  wake_at(guard_.next_deadline());
  for (const StreamEncoder* stream : active_streams_)
    wake_at(stream->next_deadline());
}

void Encoder::list_flows(std::string_view peer, NewestFlows& out) const {
  flows_.for_each([&](const TxFlow& flow) {
    out.add({.peer = peer,
             .sending = true,
             .key = flow.key,
             .announced = flow.confirmed,
             .stream = flow.stream,
             .id = flow.id,
             .epoch = flow.epoch,
             .last_packet_at = flow.last_packet_at});
  });
}

}  // namespace weft::recovery
