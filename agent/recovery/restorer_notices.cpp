// What the restorer says about its flows to whoever classifies frames from the WAN, and what it makes of the time in
// which a flow's packets passed by it.
#include "agent/recovery/restorer.h"

namespace weft::recovery {
namespace {

// A flow that is announced and of which nothing comes is told again: the classifier may have had no room for it.
constexpr Time kNoticeRepeat = std::chrono::seconds(1);
// Longer than a list may come after what it lists.
constexpr Time kListsReachBack = std::chrono::milliseconds(500);

}  // namespace

void Restorer::tell_announced(RxFlow& flow, Time now) {
  flow.tell_again_at = now + kNoticeRepeat;
  if (notices_.add({.kind = FlowNotice::Kind::kAnnounced, .key = flow.key, .stream = flow.stream})) {
    flow.told = true;
  } else {
    count(Event::kFlowNoticeRefused, flow);
  }
}

void Restorer::tell_again_if_silent(RxFlow& flow, Time now) {
  if (flow.announced && !flow.arriving() && flow.tell_again_at <= now) tell_announced(flow, now);
}

void Restorer::tell_forgotten(RxFlow& flow) {
  // Refused, it is forgotten for its silence.
  if (flow.told &&
      !notices_.add({.kind = FlowNotice::Kind::kForgotten, .key = flow.key, .stream = flow.stream}))
    count(Event::kFlowNoticeRefused, flow);
}

// Until it was learned, and while this process slept, a flow went over the bridge: what is missing from that time was
// not necessarily lost, and is not counted as lost.
LossJudge::Fate Restorer::fate_of_missing(const RxFlow& flow, roce::Psn psn, Time now) {
  if (!flow.first_seen) return LossJudge::Fate::kReceived;
  const bool before = roce::psn_before(psn, flow.first_seen->psn);
  return before && now - flow.first_seen->at < kListsReachBack ? LossJudge::Fate::kReceived
                                                               : LossJudge::Fate::kLost;
}

}  // namespace weft::recovery
