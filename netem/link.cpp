#include "netem/link.h"

#include <algorithm>
#include <utility>

namespace weft::netem {
namespace {

// Labels of the random streams of a direction; LossProcess takes two.
constexpr std::uint64_t kLabelsPerDirection = 16;
constexpr std::uint64_t kLossLabel = 0;
constexpr std::uint64_t kDiceLabel = 2;
constexpr std::uint64_t kDicePerStream = 4;

std::uint64_t first_label(Direction direction) {
  return static_cast<std::uint64_t>(direction) * kLabelsPerDirection;
}

}  // namespace

Link::Link(LinkSchedule schedule, std::uint64_t seed, Direction direction)
    : schedule_(std::move(schedule)),
      loss_(schedule_.front().link.loss, seed, first_label(direction) + kLossLabel),
      dice_([&] {
        const auto dice = [&](std::uint64_t stream) {
          const std::uint64_t label = first_label(direction) + kDiceLabel + stream * kDicePerStream;
          return Dice{Rng::stream(seed, label), Rng::stream(seed, label + 1), Rng::stream(seed, label + 2),
                      Rng::stream(seed, label + 3)};
        };
        return std::array{dice(0), dice(1)};
      }()) {}

Fate Link::enter(Nanoseconds now, const LinkPacket& packet) {
  follow_schedule(now);
  const LinkProfile& link = profile();
  Dice& dice = dice_[static_cast<std::size_t>(packet.stream)];
  // Every die is thrown for every packet: a fate must not depend on what happened to earlier packets.
  const bool lost = loss_.next_is_lost(packet.stream);
  const bool reordered = dice.reorder.chance(link.reorder);
  const bool duplicated = dice.duplicate.chance(link.duplicate);
  const bool corrupt = dice.corrupt.chance(link.corrupt);
  const auto jitter_span = static_cast<std::uint64_t>(link.jitter.count()) * 2 + 1;
  const Nanoseconds jitter = Nanoseconds(dice.jitter.below(jitter_span)) - link.jitter;
  const auto corrupt_bit = static_cast<std::uint32_t>(dice.corrupt.below(std::uint64_t{packet.ip_bytes} * 8));

  Fate fate;
  if (link.rate_bits_per_second != 0) {
    const std::uint64_t backlog_bytes = queued_bytes(now);
    if (backlog_bytes + packet.ip_bytes > link.queue_bytes) {
      fate.outcome = Fate::Outcome::kTailDropped;
      return fate;
    }
    fate.ce_marked = packet.ect && link.ecn_threshold_bytes && backlog_bytes > *link.ecn_threshold_bytes;
  }
  const Nanoseconds sent = serialise(now, packet.ip_bytes);
  if (lost) {
    fate.outcome = Fate::Outcome::kLost;
    return fate;
  }
  // Jitter is other people's queueing, which keeps order.
  fate.deliver_at = std::max(sent + link.delay + jitter, last_delivery_);
  if (reordered) {
    fate.deliver_at += link.reorder_delay;
  } else {
    last_delivery_ = fate.deliver_at;
  }
  fate.reordered = reordered;
  fate.bleached = link.bleach;
  fate.duplicated = duplicated;
  if (corrupt) fate.corrupt_bit = corrupt_bit;
  return fate;
}

std::uint64_t Link::queued_bytes(Nanoseconds now) {
  while (!queue_.empty() && queue_.front().done <= now) {
    queued_bytes_ -= queue_.front().ip_bytes;
    queue_.pop_front();
  }
  return queued_bytes_;
}

Nanoseconds Link::least_delay() const {
  Nanoseconds least = profile().delay - profile().jitter;
  for (std::size_t i = current_ + 1; i < schedule_.size(); ++i)
    least = std::min(least, schedule_[i].link.delay - schedule_[i].link.jitter);
  return least;
}

void Link::follow_schedule(Nanoseconds now) {
  while (current_ + 1 < schedule_.size() && schedule_[current_ + 1].from <= now) {
    const std::uint64_t old_rate = profile().rate_bits_per_second;
    ++current_;
    loss_.change_to(profile().loss);
    if (profile().rate_bits_per_second != old_rate) busy_fraction_ = 0;
  }
}

Nanoseconds Link::serialise(Nanoseconds now, std::uint32_t ip_bytes) {
  const std::uint64_t rate = profile().rate_bits_per_second;
  if (rate == 0) return now;
  if (busy_until_ < now) {
    busy_until_ = now;
    busy_fraction_ = 0;
  }
  constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;
  const std::uint64_t scaled = std::uint64_t{ip_bytes} * 8 * kNanosecondsPerSecond + busy_fraction_;
  busy_until_ += Nanoseconds(scaled / rate);
  busy_fraction_ = scaled % rate;
  queue_.push_back({busy_until_, ip_bytes});
  queued_bytes_ += ip_bytes;
  return busy_until_;
}

}  // namespace weft::netem
