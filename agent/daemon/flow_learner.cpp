#include "agent/daemon/flow_learner.h"

#include <cerrno>

namespace weft::daemon {
namespace {

constexpr Nanoseconds kTellRefusalsEvery = std::chrono::minutes(1);

}  // namespace

std::optional<Error> FlowLearner::follow(dataplane::Classifier& classifier,
                                         std::span<const recovery::FlowNotice> notices, Nanoseconds now) {
  std::optional<Error> first;
  for (const recovery::FlowNotice& notice : notices) {
    const bool announced = notice.kind == recovery::FlowNotice::Kind::kAnnounced;
    const recovery::Tag tag{.class_id = notice.stream.class_id, .level = notice.stream.level, .layer = 0};
    const Status done =
        announced ? classifier.learn_flow(notice.key, tag, now) : classifier.unlearn_flow(notice.key);
    if (done) {
      ++(announced ? counts_.learned : counts_.forgotten);
      continue;
    }
    ++counts_.refused;
    if (!first) {
      first = done.error();
      if (first->code == E2BIG) first->hint = "raise [caps] flows, or see 'weftctl flows' for who uses it up";
    }
  }
  const bool told_lately = refusal_told_at_ && now - *refusal_told_at_ < kTellRefusalsEvery;
  if (!first || told_lately) return std::nullopt;
  refusal_told_at_ = now;
  return first;
}

}  // namespace weft::daemon
