// The class policy: one table that says, for each traffic class and level, how strongly it is coded, what
// happens when the code fails, and how much may be filled. Baselines and published systems are rows of it,
// not code paths.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/base/result.h"
#include "agent/base/units.h"
#include "agent/fec/code.h"
#include "agent/wire/messages.h"

namespace weft::recovery {

// Index into PolicyTable::classes. Class 0 is always `exact`, the strictest: what a packet in doubt gets.
using ClassId = std::uint8_t;
inline constexpr ClassId kClassExact = 0;
using wire::kLevels;
using wire::kMaxClasses;

// What a packet's bytes mean to the job. `layer` 0 means none.
struct Tag {
  ClassId class_id = kClassExact;
  std::uint8_t level = 0;
  std::uint16_t layer = 0;
  friend bool operator==(const Tag&, const Tag&) = default;
};

using fec::CodeKind;

// After FEC has failed, in the order tried. Release is always the last resort: the endpoint recovers by
// itself.
enum class Fallback : std::uint8_t { kFill, kRelease };

struct FixedCode {
  std::uint16_t k = 32;
  std::uint16_t r = 4;
  std::uint16_t interleave = 1;
};

// One row for one level. Fractions are of packets (target_residual) and of bytes (budgets).
struct LevelPolicy {
  // The wanted P(packet undelivered after FEC); nullopt: this class is not coded at all.
  std::optional<double> target_residual = 1e-6;
  // Not coded while the measured loss is at or below this (dp-low: a quarter of its budget). 0: always coded.
  double uncoded_below_loss = 0;
  double fill_budget = 0;           // of bytes delivered so far, per (peer, class, level)
  double max_fill_per_message = 0;  // of the message's bytes
  friend bool operator==(const LevelPolicy&, const LevelPolicy&) = default;
};

struct ClassPolicy {
  std::string name;
  std::array<LevelPolicy, kLevels> levels;
  std::vector<Fallback> after = {Fallback::kRelease};
  // A fixed strength instead of an adaptive one: experiments and baselines.
  std::optional<FixedCode> fixed;
  bool may_fill(std::uint8_t level) const;
};

struct FecPolicy {
  double max_overhead = 0.25;  // repairs, manifests and announcements, of source bytes
  CodeKind code = CodeKind::kReedSolomon;
  bool ack_guard = true;
};

struct PolicyTable {
  std::vector<ClassPolicy> classes;  // classes[0] is `exact`
  FecPolicy fec;
  // Messages shorter than this are metadata and never filled.
  std::uint32_t min_fill_message_bytes = 64 * 1024;

  const LevelPolicy& level(Tag tag) const { return classes[tag.class_id].levels[tag.level % kLevels]; }
  std::optional<ClassId> find(std::string_view name) const;
  // The same for class ids that mean nothing: every one is as strict as `exact`.
  PolicyTable held_to_exact() const;

  // The shipped table: exact, dp-high, dp-low, pp (levels 0-7), ack.
  static PolicyTable defaults();
};

}  // namespace weft::recovery
