// What a direction of the WAN did, in packets and IP bytes by kind; what weft-wan's statistics are made of.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "netem/link.h"
#include "netem/packet_kind.h"

namespace weft::netem {

struct KindCounters {
  std::uint64_t packets = 0;   // entering the WAN, whatever became of them
  std::uint64_t ip_bytes = 0;  // the same
  std::uint64_t lost_packets = 0;
  std::uint64_t tail_dropped_packets = 0;
};

struct DirectionCounters {
  std::array<KindCounters, kPacketKinds> kinds;
  std::uint64_t ce_marked_packets = 0;
  std::uint64_t duplicated_packets = 0;
  std::uint64_t corrupted_packets = 0;
  std::uint64_t reordered_packets = 0;
  std::uint64_t loss_runs = 0;  // maximal runs of lost packets within a stream

  void count(const Classified& packet, std::uint32_t ip_bytes, const Fate& fate);

  KindCounters total() const;
  // Fraction lost and mean run, by the loss process alone; nothing without packets, or without losses.
  std::optional<double> realised_loss() const;
  std::optional<double> realised_burst() const;

 private:
  std::array<bool, kStreams> in_run_{};
};

}  // namespace weft::netem
