#include "agent/recovery/tx_flow_table.h"

#include <algorithm>
#include <chrono>

namespace weft::recovery {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A PSN this far from where the flow stands is no retransmission and no gap: the QP was reused.
constexpr std::int32_t kEpochJumpPackets = 1 << 21;
// Longer than any pause of a training step; a flow that comes back is announced again, no more.
constexpr Time kIdleLifetime = seconds(60);
// The peer may have dropped a flow that was silent for this long; confirming it once more is cheap.
constexpr Time kReannounceAfterIdle = seconds(10);
// A repair cannot be older than this when it arrives: the hold bound of 100 ms and a second of network.
constexpr Time kIdRest = seconds(2);
// Doubling ends here: a peer that learns nothing for a second has worse trouble than one flow's name.
constexpr Time kMaxAnnounceInterval = seconds(1);
// A flow that has been silent for this long is not announced again until it sends.
constexpr Time kAnnounceWhileActive = milliseconds(500);
constexpr std::size_t kExpiryStep = 16;
constexpr std::size_t kIds = 65536;

}  // namespace

TxFlowTable::TxFlowTable(std::size_t max_flows) : max_flows_(std::min(max_flows, kIds)) {}

TxFlow* TxFlowTable::on_packet(const roce::FlowKey& key, wire::StreamId stream, roce::Psn psn,
                               std::uint32_t psns, const PathHeaders& path, Time now) {
  TxFlow* flow = nullptr;
  if (last_ != nullptr && last_->key == key) {
    flow = last_;
  } else if (const auto found = by_key_.find(key); found != by_key_.end()) {
    flow = &flows_[found->second];
  }
  bool starts_over = flow == nullptr;
  std::uint8_t epoch = 0;
  if (flow != nullptr) {
    const std::int32_t jump = roce::psn_distance(flow->next_psn, psn);
    const bool reused = jump > kEpochJumpPackets || jump < -kEpochJumpPackets;
    epoch = static_cast<std::uint8_t>(flow->epoch + (reused ? 1 : 0));
    starts_over = reused || !(flow->stream == stream);
  }
  if (starts_over) {
    if (flow != nullptr) close(*flow, now);
    flow = open(key, stream, epoch, now);
    if (flow == nullptr) return nullptr;
    flow->next_psn = psn;
  }
  const roce::Psn after = psn + psns;
  if (roce::psn_before(flow->next_psn, after)) flow->next_psn = after;
  if (now - flow->last_packet_at > kReannounceAfterIdle) {
    flow->confirmed = false;
    flow->announce_at = now;
    flow->announce_interval = Time::zero();
  }
  flow->last_packet_at = now;
  if (!flow->confirmed && !flow->announcement_queued) {
    flow->path = path;
    queue_announcement(*flow, std::max(now, flow->announce_at));
  }
  last_ = flow;
  return flow;
}

TxFlow* TxFlowTable::open(const roce::FlowKey& key, wire::StreamId stream, std::uint8_t epoch, Time now) {
  const std::optional<wire::FlowId> id = free_id(now);
  if (!id) return nullptr;
  // The slot may be queued for its former flow's announcement; that entry then serves this one.
  const bool queued = flows_[*id].announcement_queued;
  flows_[*id] = TxFlow{.key = key,
                       .id = *id,
                       .epoch = epoch,
                       .stream = stream,
                       .path = {},
                       .next_psn = {},
                       .last_packet_at = now,
                       .message = std::nullopt,
                       .in_use = true,
                       .confirmed = false,
                       .announcement_queued = queued,
                       .announce_at = now,
                       .announce_interval = Time::zero()};
  by_key_[key] = *id;
  return &flows_[*id];
}

std::optional<wire::FlowId> TxFlowTable::free_id(Time now) {
  if (!resting_.empty() && resting_.front().until <= now) {
    const wire::FlowId id = resting_.front().id;
    resting_.pop_front();
    return id;
  }
  if (flows_.size() >= max_flows_) return std::nullopt;
  flows_.emplace_back();
  return static_cast<wire::FlowId>(flows_.size() - 1);
}

void TxFlowTable::close(TxFlow& flow, Time now) {
  by_key_.erase(flow.key);
  flow.in_use = false;
  flow.message.reset();
  resting_.push_back({flow.id, now + kIdRest});
  if (last_ == &flow) last_ = nullptr;
}

void TxFlowTable::queue_announcement(TxFlow& flow, Time at) {
  flow.announcement_queued = true;
  flow.announce_at = at;
  due_.push_back({at, flow.id});
  std::push_heap(due_.begin(), due_.end());
}

std::optional<Time> TxFlowTable::next_announcement() const {
  if (due_.empty()) return std::nullopt;
  return due_.front().at;
}

const TxFlow* TxFlowTable::take_due_announcement(Time now, Time rtt) {
  while (!due_.empty() && due_.front().at <= now) {
    std::pop_heap(due_.begin(), due_.end());
    TxFlow& flow = flows_[due_.back().id];
    due_.pop_back();
    flow.announcement_queued = false;
    const bool silent = now - flow.last_packet_at > kAnnounceWhileActive;
    if (!flow.in_use || flow.confirmed || silent) continue;
    flow.announce_interval = std::min(
        flow.announce_interval == Time::zero() ? rtt : flow.announce_interval * 2, kMaxAnnounceInterval);
    queue_announcement(flow, now + flow.announce_interval);
    return &flow;
  }
  return nullptr;
}

void TxFlowTable::confirm(std::span<const wire::FlowId> ids) {
  for (const wire::FlowId id : ids) {
    // A confirmation may be of the id's former flow only if it took longer than the id rested.
    if (id < flows_.size() && flows_[id].in_use) flows_[id].confirmed = true;
  }
}

void TxFlowTable::expire(Time now) {
  for (std::size_t i = 0; i < std::min(kExpiryStep, flows_.size()); ++i) {
    expiry_cursor_ = (expiry_cursor_ + 1) % flows_.size();
    TxFlow& flow = flows_[expiry_cursor_];
    if (flow.in_use && now - flow.last_packet_at > kIdleLifetime) close(flow, now);
  }
}

void TxFlowTable::forget_confirmations() {
  due_.clear();
  for (TxFlow& flow : flows_) {
    flow.confirmed = false;
    flow.announcement_queued = false;
    flow.announce_at = Time::zero();
    flow.announce_interval = Time::zero();
  }
}

}  // namespace weft::recovery
