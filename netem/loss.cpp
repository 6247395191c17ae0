#include "netem/loss.h"

namespace weft::netem {
namespace {

constexpr std::size_t index(Stream stream) { return static_cast<std::size_t>(stream); }

}  // namespace

LossProcess::LossProcess(const LossProfile& profile, std::uint64_t seed, std::uint64_t label)
    : profile_(profile), rng_{Rng::stream(seed, label), Rng::stream(seed, label + 1)} {
  // The chain starts in its stationary distribution, so the first packets are like any others.
  bad_.fill(rng_[index(Stream::kData)].chance(profile.probability));
  if (profile.trace != nullptr) {
    trace_next_[index(Stream::kRest)] = rng_[index(Stream::kRest)].below(profile.trace->size());
  }
}

bool LossProcess::next_is_lost(Stream stream) {
  const bool lost = step(stream, rng_[index(stream)].uniform());
  bad_[index(stream)] = lost;
  if (stream == Stream::kData) bad_[index(Stream::kRest)] = lost;
  return lost;
}

bool LossProcess::step(Stream stream, double draw) {
  const double p = profile_.probability;
  const double burst = profile_.mean_burst_packets;
  switch (profile_.model) {
    case LossProfile::Model::kIid:
      return draw < p;
    case LossProfile::Model::kGilbertElliott:
      return bad_[index(stream)] ? draw >= 1 / burst : draw < p / (burst * (1 - p));
    case LossProfile::Model::kTrace: {
      std::size_t& next = trace_next_[index(stream)];
      const bool lost = (*profile_.trace)[next % profile_.trace->size()];
      next = (next + 1) % profile_.trace->size();
      return lost;
    }
  }
  return false;
}

}  // namespace weft::netem
