#include "agent/recovery/repair_pacer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "agent/recovery/ordinal.h"

namespace weft::recovery {
namespace {

using std::chrono::microseconds;

constexpr std::size_t kMaxQueuedGroups = 4;
// Repairs are spread over this share of the group's time: the rest is slack, so that a next group that fills
// faster does not find this one unfinished, and a packet lost early does not wait all of it.
constexpr int kSpreadDivisor = 2;
// A slow flow's last packets wait for their repairs no longer than this each.
constexpr Time kMaxTailInterval = microseconds(200);
// Every repair carries or follows its block's list, and the code counts on losing repairs: what was said in so many
// rows need not be said again unasked.
constexpr unsigned kRowsThatSpeakForThemselves = 3;

}  // namespace

RepairPacer::RepairPacer(const Links& links) : links_(links) { queue_.reserve(kMaxQueuedGroups); }

RepairPacer::~RepairPacer() { clear(); }

void RepairPacer::submit(std::unique_ptr<BlockGroup> group, Time now) {
  const auto parts = static_cast<std::int64_t>(std::max<std::size_t>(group->parts().size(), 1));
  const Time interval = (group->last_packet_at() - group->opened_at()) / (kSpreadDivisor * parts);
  // The stream is faster than it was: so are the repairs that still wait.
  hurry(queue_.size() < kMaxQueuedGroups ? interval : Time::zero(), now);
  tick(now);
  queue_.push_back(
      {.group = std::move(group), .next_at = now, .interval = interval, .tail_spacing = std::nullopt});
}

void RepairPacer::end_of_message(Time spacing, Time now) {
  if (queue_.empty()) {
    if (tail_ != nullptr) tail_schedule_.start(now, first_repeat_after(*tail_, spacing));
    return;
  }
  hurry(std::min(spacing, kMaxTailInterval), now);
  queue_.back().tail_spacing = spacing;
}

Time RepairPacer::first_repeat_after(const BlockGroup& group, Time spacing) const {
  const auto& parts = group.parts();
  const bool told_often = !parts.empty() && parts.back().row + 1 >= kRowsThatSpeakForThemselves;
  return told_often ? links_.estimate.answer_time() : links_.estimate.beyond_a_burst(spacing);
}

void RepairPacer::hurry(Time longest_interval, Time now) {
  for (Paced& paced : queue_) {
    paced.interval = std::min(paced.interval, longest_interval);
    paced.next_at = std::min(paced.next_at, now + paced.interval);
  }
}

void RepairPacer::tick(Time now) {
  while (!queue_.empty() && queue_.front().next_at <= now) {
    Paced& front = queue_.front();
    const auto& parts = front.group->parts();
    if (front.next_part < parts.size()) {
      send_part(*front.group, parts[front.next_part++], Event::kRepairSent, now);
      // With others waiting it is late already.
      front.next_at += front.interval / static_cast<std::int64_t>(queue_.size());
    }
    if (front.next_part >= parts.size()) finish_front(now);
  }
  if (!tail_schedule_.active()) return;
  if (tail_schedule_.take_due(now, links_.estimate.answer_time())) repeat_tail(now);
  if (!tail_schedule_.active()) drop(tail_);
}

void RepairPacer::finish_front(Time now) {
  Paced done = std::move(queue_.front());
  queue_.erase(queue_.begin());
  if (!queue_.empty()) queue_.front().next_at = std::max(queue_.front().next_at, done.next_at);
  give_up_tail();
  tail_ = std::move(done.group);
  if (done.tail_spacing) tail_schedule_.start(now, first_repeat_after(*tail_, *done.tail_spacing));
}

void RepairPacer::repeat_tail(Time now) {
  // One repair of each block: it makes good for one more loss, and its list says what was sent. Where a single
  // repair was thought enough, losses are so rare that the list alone will do.
  const bool list_only = tail_->plan().r == 1;
  for (RepairPart part : tail_->parts()) {
    if (part.row > 0) break;
    if (list_only && !part.with_list) continue;
    part.with_symbol = part.with_symbol && !list_only;
    send_part(*tail_, part, Event::kRepairResent, now);
  }
}

void RepairPacer::send_part(const BlockGroup& group, const RepairPart& part, Event counted_as, Time now) {
  const SendResult result = links_.sender.send(wire::PacketType::kRepair, group.stream().class_id,
                                               group.path(), group.body_bytes(part), now,
                                               [&](MutableByteView body) { group.write_body(part, body); });
  if (result == SendResult::kSent) links_.counters.add(counted_as, group.stream().class_id);
}

std::size_t RepairPacer::unsent_bytes() const {
  std::size_t bytes = 0;
  for (const Paced& paced : queue_) {
    const GroupPlan& plan = paced.group->plan();
    bytes += (paced.group->parts().size() - paced.next_part) * plan.repair_bytes / (plan.r * plan.interleave);
  }
  return bytes;
}

void RepairPacer::on_covered(std::uint32_t ordinal) {
  if (tail_ == nullptr || ordinal_distance(tail_->end_ordinal(), ordinal) < 0) return;
  tail_schedule_.stop();
  drop(tail_);
}

std::optional<Time> RepairPacer::next_deadline() const {
  std::optional<Time> next = tail_schedule_.due();
  if (!queue_.empty() && (!next || queue_.front().next_at < *next)) next = queue_.front().next_at;
  return next;
}

void RepairPacer::clear() {
  for (Paced& paced : queue_)
    drop(paced.group);
  queue_.clear();
  give_up_tail();
}

bool RepairPacer::give_up_tail() {
  if (tail_ == nullptr) return false;
  tail_schedule_.stop();
  drop(tail_);
  return true;
}

void RepairPacer::drop(std::unique_ptr<BlockGroup>& group) {
  if (group != nullptr) links_.pool.give_back(std::move(group));
}

}  // namespace weft::recovery
