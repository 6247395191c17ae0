// Counts the losses of one stream before recovery, for feedback: packets expected, lost, and the runs they were lost
// in. Ordinals tell what was sent, whatever the flows' PSNs do.
//
// A list says that an ordinal was sent; whether its packet had arrived is judged then, and judged again when it
// arrives late. An ordinal is counted once it has settled: when there has been time for the other lists of its group
// and for late packets. Counts only grow. Ordinals no list ever names are unknown: neither expected nor lost.
#pragma once

#include <array>
#include <cstdint>
#include <deque>

#include "agent/recovery/engine_io.h"
#include "agent/wire/messages.h"

namespace weft::recovery {

class LossJudge {
 public:
  enum class Fate : std::uint8_t { kUnknown, kReceived, kLost };

  // From a list. The first judgement of an ordinal stands, but for late().
  void judge(std::uint32_t ordinal, Fate fate);
  // A packet judged lost arrived, not by recovery.
  void late(std::uint32_t ordinal);
  // The list just judged ended before this ordinal. Everything before it settles `settle_after` from now.
  void list_ended(std::uint32_t end_ordinal, Time now, Time settle_after);
  // Adds what has settled to `counts`.
  void settle(Time now, wire::LossCounts& counts);

  Fate fate(std::uint32_t ordinal) const;
  // True when every ordinal in [first, end) was listed.
  bool all_known(std::uint32_t first, std::uint32_t end) const;
  // One past the newest ordinal any list has named: what feedback says is covered.
  std::uint32_t covered() const { return covered_; }
  bool started() const { return started_; }

 private:
  // Ordinals remembered, the newest ones: more than a group of 16 blocks of 224 and the next one.
  static constexpr std::uint32_t kWindow = 8192;

  bool remembered(std::uint32_t ordinal) const;
  void settle_until(std::uint32_t ordinal, wire::LossCounts& counts);

  std::array<Fate, kWindow> fates_{};
  bool started_ = false;
  bool last_lost_ = false;     // the fate of the ordinal before base_
  std::uint32_t base_ = 0;     // the first ordinal not settled
  std::uint32_t covered_ = 0;  // [covered_ - kWindow, covered_) is remembered
  struct Pending {
    std::uint32_t end_ordinal;
    Time settles_at;
  };
  std::deque<Pending> pending_;
  wire::LossCounts overflow_;  // settled early, because ordinals ran ahead of the window
};

}  // namespace weft::recovery
