// What the peers announced, into the classifier's tables: a flow the peer protects is taken from the WAN by its key,
// even where the WAN has bleached the DSCP that would have told. Runs on the control thread.
//
// The tables are bounded. A flow for which there is no room goes over the bridge, unprotected; the restorer names it
// again every second as long as nothing of it arrives.
#pragma once

#include <cstdint>
#include <span>

#include "agent/base/units.h"
#include "agent/dataplane/classifier.h"
#include "agent/recovery/flow_notices.h"

namespace weft::daemon {

class FlowLearner {
 public:
  struct Counts {
    std::uint64_t learned = 0;
    std::uint64_t refused = 0;  // no room for it; a flow may be counted again every second
    std::uint64_t forgotten = 0;
  };

  // The error of the first notice that could not be followed, for the log; nullopt when all were, or when a refusal was
  // told less than a minute ago.
  std::optional<Error> follow(dataplane::Classifier& classifier,
                              std::span<const recovery::FlowNotice> notices, Nanoseconds now);
  const Counts& counts() const { return counts_; }

 private:
  Counts counts_;
  std::optional<Nanoseconds> refusal_told_at_;
};

}  // namespace weft::daemon
