// Strength follows the path: from policy, measured loss and the stream's rate to a code, and no oftener than they
// change.
//
//   LossEstimator ──loss, burst──┐
//   session ──RTT────────────────┴─▶ SteadyPath ─┐
//   PacketRate ──rate, size──────────────────────┴─▶ StrengthController ─▶ strength_query ─▶ fec::StrengthChooser
//                                                                        (the same for `weftctl explain`)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "agent/fec/strength.h"
#include "agent/recovery/block_group.h"
#include "agent/recovery/engine_io.h"
#include "agent/recovery/policy.h"

namespace weft::recovery {

struct PathState {
  fec::LossModel loss;       // what codes are chosen for
  double measured_loss = 0;  // as estimated: whether a class is coded at all goes by this
  bool clean = false;        // LossEstimator::clean(): the floor will do
  // Measured, with queues: what an endpoint's timeout has to bear. And the least it has been: what an endpoint's window
  // is made for.
  std::optional<Time> rtt;
  std::optional<Time> least_rtt = std::nullopt;
  Time endpoint_timeout{};
  std::size_t wan_mtu_bytes = 1500;
  bool ipv6 = false;
};

struct StreamState {
  double packets_per_second = 0;
  std::size_t packet_bytes = 0;  // of a full packet, at IP level
};

// How long coding may count on a packet being held. Not all of hold_bound(): an endpoint's window is a few BDP, and a
// hold of more than one and a half round trips without queues would begin to stall it.
Time coding_hold(const PathState& path);

// The sizes of the packets the encoder makes of full packets of `packet_bytes`.
fec::PacketSizes packet_sizes(const PathState& path, std::size_t packet_bytes);

// The question to ask for a class at a level that is coded.
fec::StrengthQuery strength_query(double target_residual, const FecPolicy& fec, const PathState& path,
                                  const StreamState& stream);

// Whether a level is coded at all at this loss. One that starts to be at a certain loss stays coded until the loss has
// halved.
bool is_coded(const LevelPolicy& level, double loss, bool was_coded);

// A measured number as strength goes by it: rounded to an eighth of a doubling in the direction that is safe. It moves
// at once in that direction, and in the other when it is off by more than a factor of two or when it has settled: so many
// values in a row were at least a step away. Then it moves to the outermost of them.
class Steady {
 public:
  enum class Safe : std::uint8_t { kHigh, kLow };
  // `settled_after` 0: a factor of two it must be.
  explicit Steady(Safe safe, unsigned settled_after = 0) : safe_(safe), settled_after_(settled_after) {}
  double follow(double value);

 private:
  double rounded(double value) const;
  // Whether `a` is further on the safe side than `b`.
  bool safer(double a, double b) const { return safe_ == Safe::kHigh ? a > b : a < b; }

  Safe safe_;
  unsigned settled_after_;
  double held_ = 0;
  double outermost_ = 0;  // of the values in a row
  unsigned in_a_row_ = 0;
};

// The path as strength goes by it, from report to report.
class SteadyPath {
 public:
  // `measured`: with the estimated loss; its least_rtt is not asked. To be called once for every report.
  PathState follow(const PathState& measured);

 private:
  // Two or three seconds at 30 ms round trips: longer than an estimate takes to wander about the truth and back.
  static constexpr unsigned kSettledReports = 64;

  Steady loss_{Steady::Safe::kHigh, kSettledReports};
  Steady burst_beyond_one_{Steady::Safe::kHigh, kSettledReports};
  Steady rtt_seconds_{Steady::Safe::kHigh, kSettledReports};
  Steady least_rtt_seconds_{Steady::Safe::kLow, kSettledReports};
};

// Of one stream. Owned by its planner.
class StrengthController {
 public:
  // The strength for the next group; nullptr: not coded. Cheap while nothing has changed. `path` is a steady one.
  const fec::Strength* choose(const LevelPolicy& level, const FecPolicy& fec, const PathState& path,
                              const StreamState& stream);

  // What choose() said last; nullptr: not coded.
  const fec::Strength* chosen() const { return coded_ ? &answers_[current_].strength : nullptr; }

  // The repairs that bring a block that closes with `columns` to the target: fewer than a full one's. After choose().
  unsigned rows_for(unsigned columns) const {
    return answers_.empty() ? fec::kMaxRows : answers_[current_].rows_for[columns];
  }

 private:
  struct Answer {
    fec::StrengthQuery query;
    fec::Strength strength;
    std::array<std::uint8_t, fec::kMaxColumns + 1> rows_for{};
  };
  // An answer takes up to a millisecond to find, which every packet behind would wait for. What is measured wavers
  // between a few steps, so the newest few are remembered.
  static constexpr std::size_t kRemembered = 8;
  void answer(const fec::StrengthQuery& query);
  void compute(const fec::StrengthQuery& query, Answer& answer);

  Steady packets_per_second_{Steady::Safe::kLow};
  bool coded_ = false;
  std::vector<Answer> answers_;
  std::size_t current_ = 0;  // given last
  std::size_t next_ = 0;     // to be forgotten first
  fec::StrengthChooser chooser_;
  fec::ResidualTable table_;
};

}  // namespace weft::recovery
