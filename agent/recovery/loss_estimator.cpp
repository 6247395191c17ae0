#include "agent/recovery/loss_estimator.h"

#include <algorithm>
#include <cmath>

namespace weft::recovery {
namespace {

// Enough of every size that the newest reports are seen one by one.
constexpr std::size_t kMergeAbove = 3;
// What is older than this has no say: three in so many is less loss than any repair costs.
constexpr std::uint64_t kRememberedPackets = 1ULL << 23;

// How sure one must be that the path has changed: dozens of reports a second are looked at in a dozen stretches each, and
// a rise where there was none is paid for with repairs until it has been disproved.
constexpr double kChangeDeviations = 4;  // 99.997 %
// And how sure that a path which has not is no worse than this.
constexpr double kBoundDeviations = 1.96;  // 97.5 %

// Confidence limits of a Poisson count, by Wilson and Hilferty's cube root approximation; within a few per cent of the
// exact ones, and on the careful side for counts below 3.
double upper_limit(double count, double deviations) {
  const double n = count + 1;
  return n * std::pow(1 - 1 / (9 * n) + deviations / (3 * std::sqrt(n)), 3);
}

double lower_limit(double count, double deviations) {
  if (count == 0) return 0;
  return count * std::pow(std::max(0.0, 1 - 1 / (9 * count) - deviations / (3 * std::sqrt(count))), 3);
}

// What is known of a path that has not changed: "the rule of three" where nothing was lost.
double bound(double count) { return count == 0 ? 3 : upper_limit(count, kBoundDeviations); }

}  // namespace

void LossEstimator::on_counts(const wire::LossCounts& counts) {
  if (counts.expected_packets < last_.expected_packets || counts.lost_packets < last_.lost_packets ||
      counts.loss_runs < last_.loss_runs || counts.ce_marked_packets < last_.ce_marked_packets) {
    reset();
  }
  const std::uint64_t packets = counts.expected_packets - last_.expected_packets;
  const std::uint64_t lost = counts.lost_packets - last_.lost_packets;
  // A run that goes on from the report before is counted there.
  const std::uint64_t runs = counts.loss_runs - last_.loss_runs;
  const bool ce = counts.ce_marked_packets != last_.ce_marked_packets;
  const bool congested = lost > 0 && (ce || ce_before_);
  // The marks of a queue that overflows come before the losses, so a report may hold one and the next the other.
  if (packets > 0) ce_before_ = ce;
  last_ = counts;
  if (congested || (packets == 0 && lost == 0)) return;
  update_burst(lost, runs);
  add({.packets = std::max(packets, lost), .runs = runs, .reports = 1});
  update_rate();
}

void LossEstimator::add(const Evidence& report) {
  evidence_.push_back(report);
  // Like a binary counter: where more than kMergeAbove have the same size, the two oldest of them become one.
  std::size_t newest_of_size = evidence_.size() - 1;
  for (;;) {
    std::size_t oldest = newest_of_size;
    while (oldest > 0 && evidence_[oldest - 1].reports == evidence_[newest_of_size].reports)
      --oldest;
    if (newest_of_size - oldest < kMergeAbove) break;
    Evidence& into = evidence_[oldest];
    const Evidence& from = evidence_[oldest + 1];
    into = {into.packets + from.packets, into.runs + from.runs, into.reports + from.reports};
    evidence_.erase(evidence_.begin() + static_cast<std::ptrdiff_t>(oldest) + 1);
    newest_of_size = oldest;
  }
  std::uint64_t packets = 0;
  for (std::size_t i = evidence_.size(); i-- > 0;) {
    packets += evidence_[i].packets;
    if (packets <= kRememberedPackets) continue;
    evidence_.erase(evidence_.begin(), evidence_.begin() + static_cast<std::ptrdiff_t>(i));
    break;
  }
}

void LossEstimator::update_burst(std::uint64_t lost, std::uint64_t runs) {
  const double keep = std::pow(1 - 1 / kRememberedRuns, static_cast<double>(runs));
  lost_in_runs_ = lost_in_runs_ * keep + static_cast<double>(lost);
  runs_ = runs_ * keep + static_cast<double>(runs);
}

void LossEstimator::update_rate() {
  struct Stretch {
    std::size_t begin = 0;
    double runs = 0;
    double packets = 0;
    double limit = 0;
  };
  Stretch all;
  Stretch rise{.limit = run_rate_};
  Stretch fall{.limit = run_rate_};
  for (std::size_t i = evidence_.size(); i-- > 0;) {
    all.runs += static_cast<double>(evidence_[i].runs);
    all.packets += static_cast<double>(evidence_[i].packets);
    if (all.packets == 0) continue;
    const double lower = lower_limit(all.runs, kChangeDeviations) / all.packets;
    const double upper = upper_limit(all.runs, kChangeDeviations) / all.packets;
    if (lower > rise.limit) rise = {i, all.runs, all.packets, lower};
    if (upper < fall.limit) fall = {i, all.runs, all.packets, upper};
  }
  clean_ = all.runs == 0 && all.packets >= kCleanPackets;
  if (all.packets == 0) return;
  // What came before the stretch that shows a change tells of the path as it was.
  const auto forget_before = [this](const Stretch& stretch) {
    evidence_.erase(evidence_.begin(), evidence_.begin() + static_cast<std::ptrdiff_t>(stretch.begin));
  };
  if (rise.packets > 0) {
    run_rate_ = bound(rise.runs) / rise.packets;
    forget_before(rise);
  } else if (fall.packets > 0) {
    run_rate_ = std::min(run_rate_, bound(fall.runs) / fall.packets);
    forget_before(fall);
  } else {
    run_rate_ = std::min(run_rate_, bound(all.runs) / all.packets);
  }
}

fec::LossModel LossEstimator::estimate() const {
  const double burst = std::max(1.0, lost_in_runs_ / runs_);
  return fec::sane({.loss = run_rate_ * burst, .burst = burst});
}

}  // namespace weft::recovery
