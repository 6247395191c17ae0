// Gaps: when a flow has one, what may still close it, and when it is given up.
#include <algorithm>

#include "agent/recovery/restorer.h"

namespace weft::recovery {
namespace {

using roce::Psn;

// A stream whose repairs came within this time goes on being coded.
constexpr Time kCodedRecently = std::chrono::seconds(1);
// What is missing with nothing behind it keeps nobody waiting; after this its repairs and descriptors do not come.
constexpr Time kTailPatience = std::chrono::milliseconds(200);

}  // namespace

ResendDelay Restorer::resend_delay() const {
  // A sender that was told to go back does so within a round trip; twice that, and some for its own delays. It may be as
  // quick as the path is without queues.
  constexpr Time kUnknownRtt = std::chrono::milliseconds(100);
  constexpr Time kMargin = std::chrono::milliseconds(20);
  return {.least = least_rtt_ * 3 / 4, .most = (rtt_ == Time::zero() ? kUnknownRtt : rtt_) * 2 + kMargin};
}

// In a response flow PSNs that were never sent may lie before READ data whose beginning is missing; the PSN just
// before it was sent.
Psn Restorer::missing_psn(const RxFlow& flow) const {
  if (!flow.held.empty() && flow.key.response && continues_read_response(*flow.held.front().facts.op)) {
    return flow.held.front().facts.psn - 1;
  }
  return flow.order.next();
}

void Restorer::update_gap(RxFlow& flow, Time now) {
  if (flow.proven_until && !roce::psn_before(flow.order.next(), *flow.proven_until))
    flow.proven_until.reset();
  if (!flow.ordered() || flow.order.passing() || (flow.held.empty() && !flow.proven_until)) {
    flow.gap_since.reset();
    return;
  }
  flow.gap_since = flow.held.empty() ? now : flow.held.oldest();
  if (!flow.in_gaps) {
    flow.in_gaps = true;
    gaps_.push_back(flow.handle);
  }
  resolve(flow, now);
}

bool Restorer::repairs_expected(const RxFlow& flow, Time now) {
  const std::optional<Time> last_repair_at = streams_[flow.stream].last_repair_at;
  if (last_repair_at && now - *last_repair_at < kCodedRecently) return true;
  const LevelPolicy& row =
      policy_.level({.class_id = flow.stream.class_id, .level = flow.stream.level, .layer = 0});
  return row.target_residual && row.uncoded_below_loss == 0;
}

// True when the lists account for everything the stream sent between the packet before the gap and the one behind it,
// and the missing one is not among it: it was lost before the encoder, and nobody over here can bring it.
bool Restorer::not_sent_over_wan(const RxFlow& flow) {
  if (flow.held.empty() || flow.order.after_read()) return false;
  const Arrivals::Record* before = arrivals_.find_psn(flow.handle, flow.order.next() - 1, flow.epoch);
  const Arrivals::Record* behind = arrivals_.find_psn(flow.handle, flow.held.front().facts.psn, flow.epoch);
  if (before == nullptr || behind == nullptr || !before->listed || !behind->listed) return false;
  return streams_[flow.stream].judge.all_known(before->ordinal + 1, behind->ordinal);
}

// Decides about the gap before `order.next()`: waits (look_at says until when), fills, or gives up.
void Restorer::resolve(RxFlow& flow, Time now) {
  const Time allowance = reorder_.value();
  const Time deadline = *flow.gap_since + streams_[flow.stream].span.wait(allowance, hold_bound());
  const MissingPacket* missing = missing_.find(flow.handle, missing_psn(flow), flow.epoch);
  // A straggler of what was sent before the sender went back is behind no gap.
  const Time reordered_until =
      std::min(deadline, std::max(*flow.gap_since, flow.order.went_back_at() + allowance) + allowance);

  Time patience = deadline;
  Event reason = Event::kReleasedTimeout;
  if (flow.held.empty()) {
    // Nobody waits behind it, and what describes and repairs a tail is sent twice.
  } else if (missing != nullptr && missing->hopeless) {
    patience = now;
    reason = Event::kReleasedUndecodable;
  } else if (missing == nullptr && not_sent_over_wan(flow)) {
    // Or a manifest, which names no fingerprints, was taken to speak of another transmission.
    patience = reordered_until;
    reason = Event::kReleasedNotListed;
  } else if ((missing == nullptr || missing->from_manifest) && !repairs_expected(flow, now)) {
    // Nothing brings it back but being late.
    patience = reordered_until;
    reason = Event::kReleasedUncoded;
  }
  if (now < patience) {
    flow.look_at = patience;
    return;
  }
  switch (try_fill(flow, now)) {
    case FillOutcome::kFilled:
      if (!flow.held.empty() && flow.order.is_next(flow.held.front().facts))
        count(Event::kHeldClosedByFill, flow);
      drain(flow);
      update_gap(flow, now);
      return;
    case FillOutcome::kNotYet:
      if (now < deadline) {
        flow.look_at = deadline;  // or when the descriptor comes
        return;
      }
      count(Event::kFillRefusedNoDescriptor, flow);
      break;
    case FillOutcome::kRefused:
      break;
  }
  if (!flow.held.empty()) {
    give_up(flow, now < deadline ? reason : Event::kReleasedTimeout, now);
  } else if (now - *flow.gap_since >= kTailPatience) {
    flow.proven_until.reset();
    flow.gap_since.reset();
  } else {
    flow.look_at = now + allowance;
  }
}

void Restorer::give_up(RxFlow& flow, Event reason, Time now) {
  count(reason, flow, std::max<std::size_t>(flow.held.size(), 1));
  const Psn behind_held = flow.held.empty() ? flow.order.next() : flow.order.behind(flow.held.back().facts);
  send_all_held(flow);
  flow.order.give_up(now, flow.transport == roce::Transport::kUc, behind_held);
  flow.proven_until.reset();
  flow.gap_since.reset();
}

}  // namespace weft::recovery
