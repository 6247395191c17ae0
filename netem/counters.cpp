#include "netem/counters.h"

namespace weft::netem {

void DirectionCounters::count(const Classified& packet, std::uint32_t ip_bytes, const Fate& fate) {
  KindCounters& kind = kinds[static_cast<std::size_t>(packet.kind)];
  ++kind.packets;
  kind.ip_bytes += ip_bytes;
  bool& in_run = in_run_[static_cast<std::size_t>(packet.stream)];
  switch (fate.outcome) {
    case Fate::Outcome::kTailDropped:
      ++kind.tail_dropped_packets;
      return;
    case Fate::Outcome::kLost:
      ++kind.lost_packets;
      loss_runs += in_run ? 0 : 1;
      in_run = true;
      return;
    case Fate::Outcome::kDelivered:
      in_run = false;
      ce_marked_packets += fate.ce_marked ? 1 : 0;
      duplicated_packets += fate.duplicated ? 1 : 0;
      corrupted_packets += fate.corrupt_bit ? 1 : 0;
      reordered_packets += fate.reordered ? 1 : 0;
      return;
  }
}

KindCounters DirectionCounters::total() const {
  KindCounters sum;
  for (const KindCounters& kind : kinds) {
    sum.packets += kind.packets;
    sum.ip_bytes += kind.ip_bytes;
    sum.lost_packets += kind.lost_packets;
    sum.tail_dropped_packets += kind.tail_dropped_packets;
  }
  return sum;
}

std::optional<double> DirectionCounters::realised_loss() const {
  const KindCounters sum = total();
  if (sum.packets == 0) return std::nullopt;
  return static_cast<double>(sum.lost_packets) / static_cast<double>(sum.packets);
}

std::optional<double> DirectionCounters::realised_burst() const {
  if (loss_runs == 0) return std::nullopt;
  return static_cast<double>(total().lost_packets) / static_cast<double>(loss_runs);
}

}  // namespace weft::netem
