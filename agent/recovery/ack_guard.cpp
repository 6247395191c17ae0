#include "agent/recovery/ack_guard.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace weft::recovery {
namespace {

using std::chrono::milliseconds;

// Shorter than any endpoint's timeout by far, longer than the gap between ACKs of a flow that is busy.
constexpr Time kMinPatience = milliseconds(1);
// A slow flow's gaps say nothing about how long its endpoint waits.
constexpr Time kMaxPatience = milliseconds(10);
// The WAN's bursts are counted in packets, and on a path that carries nothing but acknowledgements the copies are what
// follows a lost one. At a mean burst of 4 all seven die together once in six bursts; two copies would in every second.
// A message of 1 MiB pays 0.06 % for them.
constexpr int kCopies = 6;

}  // namespace

bool AckGuard::on_response(const roce::FlowKey& key, const roce::PacketView& view, const PathHeaders& path,
                           Time now) {
  const roce::Operation operation = view.op().operation;
  const bool guarded =
      operation == roce::Operation::kAcknowledge || operation == roce::Operation::kAtomicAcknowledge;
  if (!guarded || view.ip_packet().size() > wire::kMaxAckCopyBytes) {
    if (const auto found = index_.find(key); found != index_.end()) entries_[found->second].copies_left = 0;
    return true;
  }
  const auto [entry, another_gave_way] = place_for(key, now);
  const Time gap = now - entry.last_at;
  // A pause is not a gap between ACKs of one message.
  if (gap < kMaxPatience) entry.mean_gap += (gap - entry.mean_gap) / 8;
  entry.last_at = now;
  entry.path = path;
  entry.packet_bytes = view.ip_packet().size();
  std::memcpy(entry.ip_packet.data(), view.ip_packet().data(), entry.packet_bytes);
  entry.patience = std::clamp(entry.mean_gap * 4, kMinPatience, kMaxPatience);
  entry.due = now + entry.patience;
  entry.copies_left = kCopies;
  wake_at(entry.due);
  return !another_gave_way;
}

AckGuard::Place AckGuard::place_for(const roce::FlowKey& key, Time now) {
  if (const auto found = index_.find(key); found != index_.end()) return {.entry = entries_[found->second]};
  bool another_gave_way = false;
  std::size_t slot = entries_.size();
  if (slot < max_flows_) {
    entries_.emplace_back();
  } else {
    slot = next_victim_;
    next_victim_ = (next_victim_ + 1) % max_flows_;
    another_gave_way = entries_[slot].copies_left > 0;
    index_.erase(entries_[slot].key);
  }
  entries_[slot] = Entry{};
  entries_[slot].key = key;
  entries_[slot].last_at = now;
  index_.emplace(key, slot);
  return {.entry = entries_[slot], .another_gave_way = another_gave_way};
}

void AckGuard::clear() {
  entries_.clear();
  index_.clear();
  deadline_.reset();
}

}  // namespace weft::recovery
