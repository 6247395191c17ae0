// Packets that lists say were sent and that have not arrived: what a gap may wait for, and what proves a packet sent.
// Empty while nothing is lost, and then asking costs nothing. Bounded; entries expire.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "agent/recovery/arrivals.h"
#include "agent/recovery/engine_io.h"
#include "agent/wire/messages.h"

namespace weft::recovery {

inline constexpr std::uint32_t kNoBlock = 0xffffffff;

struct MissingPacket {
  SourceName name;
  std::uint32_t epoch = 0;
  bool from_manifest = false;  // then the fingerprint is unknown and no block may recover it
  wire::StreamId stream;
  std::uint32_t ordinal = 0;
  std::uint32_t block = kNoBlock;  // slot in the block store
  std::uint8_t column = 0;
  bool hopeless = false;  // its block cannot be decoded any more
  Time listed_at{};
};

class MissingSet {
 public:
  explicit MissingSet(std::size_t max_packets) : max_packets_(max_packets) {}

  bool empty() const { return by_psn_.empty(); }
  std::size_t size() const { return by_psn_.size(); }

  // False when full.
  bool add(const MissingPacket& packet) {
    if (by_psn_.size() >= max_packets_) return false;
    by_psn_.emplace(key_of(packet.name.flow, packet.name.psn), packet);
    return true;
  }

  // The entry of that PSN with the best outlook: one a repair may still recover before any other.
  const MissingPacket* find(FlowHandle flow, roce::Psn psn, std::uint32_t epoch) const {
    const MissingPacket* best = nullptr;
    const auto [first, last] = by_psn_.equal_range(key_of(flow, psn));
    for (auto it = first; it != last; ++it) {
      if (it->second.epoch != epoch) continue;
      if (best == nullptr || outlook(it->second) > outlook(*best)) best = &it->second;
    }
    return best;
  }

  // Whether a list that came at or after `since` has named it.
  bool listed_since(FlowHandle flow, roce::Psn psn, std::uint32_t epoch, Time since) const {
    const auto [first, last] = by_psn_.equal_range(key_of(flow, psn));
    return std::any_of(first, last, [&](const auto& entry) {
      return entry.second.epoch == epoch && entry.second.listed_at >= since;
    });
  }

  // A packet arrived: calls found(entry) for each entry it answers, and removes them.
  template <class Found>
  void arrived(const SourceName& name, Found&& found) {
    erase_if(name.flow, name.psn, [&](const MissingPacket& packet) {
      const bool same = packet.from_manifest || packet.name.fingerprint == name.fingerprint;
      if (same) found(packet);
      return same;
    });
  }

  void set_hopeless(const SourceName& name, std::uint32_t block) {
    const auto [first, last] = by_psn_.equal_range(key_of(name.flow, name.psn));
    for (auto it = first; it != last; ++it) {
      if (it->second.block == block) it->second.hopeless = true;
    }
  }

  // Its block has recovered it, or is forgotten.
  void remove(const SourceName& name, std::uint32_t block) {
    erase_if(name.flow, name.psn, [&](const MissingPacket& packet) { return packet.block == block; });
  }

  void expire(Time listed_before) {
    std::erase_if(by_psn_, [&](const auto& entry) { return entry.second.listed_at < listed_before; });
  }
  void clear() { by_psn_.clear(); }

 private:
  static std::uint64_t key_of(FlowHandle flow, roce::Psn psn) {
    return std::uint64_t{flow} << 24 | psn.value;
  }
  static int outlook(const MissingPacket& packet) {
    if (packet.hopeless) return 0;
    return packet.from_manifest ? 1 : 2;
  }
  template <class Condition>
  void erase_if(FlowHandle flow, roce::Psn psn, Condition&& condition) {
    auto [it, last] = by_psn_.equal_range(key_of(flow, psn));
    while (it != last)
      it = condition(it->second) ? by_psn_.erase(it) : std::next(it);
  }

  std::size_t max_packets_;
  std::unordered_multimap<std::uint64_t, MissingPacket> by_psn_;
};

}  // namespace weft::recovery
