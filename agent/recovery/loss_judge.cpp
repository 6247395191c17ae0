#include "agent/recovery/loss_judge.h"

#include "agent/recovery/ordinal.h"

namespace weft::recovery {
namespace {

// A jump no sender makes: it started its ordinals anew.
constexpr std::uint32_t kMaxJump = 1U << 20;

}  // namespace

bool LossJudge::remembered(std::uint32_t ordinal) const {
  return started_ && covered_ - ordinal - 1 < kWindow;
}

void LossJudge::judge(std::uint32_t ordinal, Fate fate) {
  const std::int32_t ahead = ordinal_distance(covered_, ordinal);
  if (!started_ || ahead > static_cast<std::int32_t>(kMaxJump) ||
      ahead < -static_cast<std::int32_t>(kMaxJump)) {
    fates_.fill(Fate::kUnknown);
    pending_.clear();
    started_ = true;
    last_lost_ = false;
    covered_ = ordinal + 1;
    // Not `ordinal` itself: lists of a group's blocks come in any order.
    base_ = covered_ - kWindow / 2;
  } else if (ahead >= 0) {
    if (ordinal - base_ >= kWindow) settle_until(ordinal - kWindow / 2, overflow_);
    if (ordinal - covered_ >= kWindow) {
      fates_.fill(Fate::kUnknown);
    } else {
      for (std::uint32_t fresh = covered_; fresh != ordinal; ++fresh)
        fates_[fresh % kWindow] = Fate::kUnknown;
    }
    fates_[ordinal % kWindow] = Fate::kUnknown;
    covered_ = ordinal + 1;
  } else if (!remembered(ordinal) || ordinal_distance(base_, ordinal) < 0) {
    return;
  }
  Fate& known = fates_[ordinal % kWindow];
  if (known == Fate::kUnknown) known = fate;
}

void LossJudge::late(std::uint32_t ordinal) {
  if (fate(ordinal) == Fate::kLost) fates_[ordinal % kWindow] = Fate::kReceived;
}

void LossJudge::list_ended(std::uint32_t end_ordinal, Time now, Time settle_after) {
  pending_.push_back({end_ordinal, now + settle_after});
}

void LossJudge::settle(Time now, wire::LossCounts& counts) {
  counts.expected_packets += overflow_.expected_packets;
  counts.lost_packets += overflow_.lost_packets;
  counts.loss_runs += overflow_.loss_runs;
  overflow_ = {};
  while (!pending_.empty() && pending_.front().settles_at <= now) {
    settle_until(pending_.front().end_ordinal, counts);
    pending_.pop_front();
  }
}

void LossJudge::settle_until(std::uint32_t ordinal, wire::LossCounts& counts) {
  for (; ordinal_distance(base_, ordinal) > 0; ++base_) {
    const Fate settled = fate(base_);
    if (settled != Fate::kUnknown) ++counts.expected_packets;
    if (settled == Fate::kLost) {
      ++counts.lost_packets;
      if (!last_lost_) ++counts.loss_runs;
    }
    last_lost_ = settled == Fate::kLost;
  }
}

LossJudge::Fate LossJudge::fate(std::uint32_t ordinal) const {
  return remembered(ordinal) ? fates_[ordinal % kWindow] : Fate::kUnknown;
}

bool LossJudge::all_known(std::uint32_t first, std::uint32_t end) const {
  if (ordinal_distance(first, end) <= 0 || end - first > kWindow) return ordinal_distance(first, end) == 0;
  for (std::uint32_t ordinal = first; ordinal != end; ++ordinal) {
    if (fate(ordinal) == Fate::kUnknown) return false;
  }
  return true;
}

}  // namespace weft::recovery
