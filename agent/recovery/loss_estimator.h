// Loss and burst length of a path, from what the receiver reports. Strength hangs on them, so they move only when the
// evidence contradicts them: no smoothing constant, no noise.
//
// What is estimated is the rate of loss *runs*, which are independent where single losses are not. Every stretch of
// reports that ends now is asked whether the rate can be true for it:
//
//   rises at once   where a stretch had too many runs: to what that stretch bounds it by
//   decays          to what all the evidence bounds it by; without losses that is 3/n
//
// and where a stretch shows that the path has changed, what came before it is forgotten.
//
// Before anything is known the path is taken to lose one packet in a hundred. A report of losses together with CE marks
// says that the path is congested, not that it is bad: it is no evidence for more repair (P9), nor for less.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/fec/loss_model.h"
#include "agent/wire/messages.h"

namespace weft::recovery {

class LossEstimator {
 public:
  // The receiver's cumulative counts, newest last. Counts that run backwards start a new path.
  void on_counts(const wire::LossCounts& counts);
  void reset() { *this = LossEstimator(); }

  fec::LossModel estimate() const;
  // Nothing was lost for long enough that the price of the next loss is worth less than repairs against it: strength
  // may go to its floor, whatever the target. It rises with the first report of a loss.
  bool clean() const { return clean_; }

 private:
  // Of one report, or of several neighbours together.
  struct Evidence {
    std::uint64_t packets = 0;
    std::uint64_t runs = 0;
    std::uint32_t reports = 0;
  };
  void add(const Evidence& report);
  void update_burst(std::uint64_t lost, std::uint64_t runs);
  void update_rate();

  static constexpr double kAssumedLoss = 1e-2;
  static constexpr double kAssumedBurst = 2;
  // How many runs the assumption counts as, and after how many a run is forgotten.
  static constexpr double kAssumedRuns = 4;
  static constexpr double kRememberedRuns = 128;
  // The assumption would have shown dozens of losses in so many, and a path that loses one in a thousand four.
  static constexpr double kCleanPackets = 4096;

  wire::LossCounts last_;
  bool ce_before_ = false;
  // Oldest first; neighbours are merged as they age, so there are a few of every power of two.
  std::vector<Evidence> evidence_;
  double run_rate_ = kAssumedLoss / kAssumedBurst;
  double lost_in_runs_ = kAssumedRuns * kAssumedBurst;
  double runs_ = kAssumedRuns;
  bool clean_ = false;
};

}  // namespace weft::recovery
