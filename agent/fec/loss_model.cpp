#include "agent/fec/loss_model.h"

#include <algorithm>
#include <cmath>

namespace weft::fec {

LossModel sane(const LossModel& model) {
  return {.loss = std::clamp(model.loss, 0.0, 0.5), .burst = std::max(model.burst, 1.0)};
}

double correlation(const LossModel& model) {
  if (model.burst == 1) return 0;
  // Negative where runs are shorter than independent losses make them, which no path does.
  return std::max(0.0, 1 - 1 / model.burst - model.loss / (model.burst * (1 - model.loss)));
}

LossStep loss_step(const LossModel& model, unsigned packets) {
  const double memory = std::pow(correlation(model), packets);
  return {.loss_after_arrival = model.loss * (1 - memory),
          .loss_after_loss = model.loss + (1 - model.loss) * memory};
}

}  // namespace weft::fec
