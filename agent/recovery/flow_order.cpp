#include "agent/recovery/flow_order.h"

namespace weft::recovery {
namespace {

using roce::Operation;
using roce::Position;
using roce::Psn;
using roce::psn_distance;

// After going back, a gap as long as this right up to where the sender had been is no loss.
constexpr std::int32_t kResumeGapPackets = 64;

}  // namespace

std::uint32_t FlowOrder::psn_span(const OrderFacts& facts) const {
  if (facts.op->operation != Operation::kReadRequest) return 1;
  return pmtu_bytes_ == 0 ? 1 : roce::packets_for(facts.read_length_bytes, pmtu_bytes_);
}

// In a response flow only READ data must be without gaps: within a message, everything waits for the rest of it.
bool FlowOrder::gaps_count_before(const OrderFacts& facts) const {
  return !facts.op->is_response() || mid_read_response_ || continues_read_response(*facts.op);
}

// A READ of unknown PMTU took one of five numbers of PSNs; the packet behind it tells which.
void FlowOrder::accept_read_jump(Psn psn) {
  for (const std::uint16_t pmtu : roce::kPmtus) {
    if (psn != read_psn_ + roce::packets_for(read_length_bytes_, pmtu)) continue;
    pmtu_bytes_ = pmtu;
    next_ = psn;
    return;
  }
}

bool FlowOrder::is_next(const OrderFacts& facts) const {
  const std::int32_t ahead = psn_distance(next_, facts.psn);
  return ahead == 0 || (ahead > 0 && !gaps_count_before(facts));
}

void FlowOrder::advance(const OrderFacts& facts) {
  next_ = behind(facts);
  note_forwarded(next_);
  if (psn_distance(received_until_, next_) > 0) received_until_ = next_;
  if (psn_distance(in_turn_until_, next_) > 0) in_turn_until_ = next_;
  const bool unknown_span = facts.op->operation == Operation::kReadRequest && pmtu_bytes_ == 0;
  read_length_bytes_ = unknown_span ? facts.read_length_bytes : 0;
  read_psn_ = facts.psn;
  if (facts.op->operation == Operation::kReadResponse) mid_read_response_ = !facts.op->ends_message();
}

void FlowOrder::go_back_with_sender(const OrderFacts& facts, Time now) {
  if (facts.op->is_response() || facts.op->transport != roce::Transport::kRc) return;
  if (rewind_ && now > rewind_expected_.latest) rewind_.reset();
  if (psn_distance(facts.psn, next_) <= 0 || !facts.resent) return;
  const bool continued = resent_ && resent_->next == facts.psn;
  const bool asked_for =
      rewind_ && now >= rewind_expected_.earliest && psn_distance(*rewind_, facts.psn) >= 0;
  if (!continued && !asked_for) {
    resent_ = {.first = facts.psn, .next = behind(facts)};
    return;
  }
  // What came of this pass has been delivered; the receiver may have said that it misses what comes before it, too.
  const Psn pass_from = continued ? resent_->first : facts.psn;
  const bool misses_more = rewind_ && psn_distance(*rewind_, pass_from) > 0;
  next_ = wanted_from(misses_more ? *rewind_ : facts.psn);
  if (asked_for) asked_again_ = {.from = *rewind_, .at = now};
  passing_ = false;
  went_back_at_ = now;
  rewind_.reset();
  resent_.reset();
}

void FlowOrder::begin_at(Psn psn) {
  started_ = true;
  next_ = forwarded_until_ = received_until_ = in_turn_until_ = psn;
  step_over_to(psn);
}

void FlowOrder::step_over_to(Psn psn) {
  in_step_ = false;
  step_from_ = psn;
}

Verdict FlowOrder::arrive(const OrderFacts& facts, std::optional<Psn> first_held, bool hold_gaps, Time now,
                          const ResendDelay& resend_delay) {
  const Psn psn = facts.psn;
  if (!started_) {
    begin_at(psn);
    advance(facts);
    return Verdict::kInOrder;
  }
  if (read_length_bytes_ != 0 && psn_distance(next_, psn) > 0) accept_read_jump(psn);
  go_back_with_sender(facts, now);
  const std::int32_t ahead = psn_distance(next_, psn);
  if (ahead < -kMaxAgePackets || ahead > static_cast<std::int32_t>(kMaxGapPackets)) {
    restart();
    begin_at(psn);
    advance(facts);
    return Verdict::kNewEpoch;
  }
  if (ahead < 0) return Verdict::kOld;
  const bool behind_held = first_held && psn_distance(*first_held, psn) > 0;
  // A receiver of another kind asked for a few packets only, and the sender goes on where it was.
  const bool resumed = !passing_ && !first_held && psn == received_until_ && ahead > kResumeGapPackets;
  if (ahead > 0 && hold_gaps && !resumed && (behind_held || gaps_count_before(facts))) {
    if (!passing_) return Verdict::kAhead;
    // An unbroken stream long after the gap was given up: the sender has not gone back, and will not.
    const bool evident = psn == passing_next_ && now - passing_since_ > resend_delay.most;
    passing_next_ = behind(facts);
    if (!evident) {
      note_forwarded(passing_next_);
      return Verdict::kPassing;
    }
  }
  // Its receiver has asked for the missing one since the gap was given up. Earlier than the answer can be here, it is
  // the packet itself, only late, and the sender has not gone back.
  if (passing_ && ahead == 0 && now - passing_since_ >= resend_delay.least) went_back_at_ = now;
  passing_ = false;
  if (ahead > 0) step_over_to(psn);
  advance(facts);
  return Verdict::kInOrder;
}

void FlowOrder::give_up(Time now, bool unreliable, Psn behind_held) {
  note_forwarded(behind_held);
  if (unreliable) {
    if (psn_distance(next_, behind_held) > 0) next_ = behind_held;
    return;
  }
  passing_ = true;
  passing_since_ = now;
  passing_next_ = behind_held;
  mid_read_response_ = false;
}

void FlowOrder::expect_rewind(Psn psn, const Between& when) {
  // The receiver waits for next_ itself: that is where the order stands already.
  if (!started_ || psn_distance(psn, next_) <= 0) return;
  rewind_ = psn;
  rewind_expected_ = when;
}

bool FlowOrder::receiver_has(Psn until) {
  // When the order has gone back behind that place, it did so with the sender, who heard the receiver.
  in_step_ |= psn_distance(step_from_, until) >= 0 || psn_distance(step_from_, next_) < 0;
  const bool ahead = psn_distance(next_, until) > 0;
  // What never came to it in its turn it cannot have, but for what passes.
  if (ahead && !passing_ && psn_distance(in_turn_until_, until) > 0) return false;
  acknowledged_until_ = wanted_from(until);
  if (psn_distance(received_until_, until) > 0) received_until_ = until;
  if (ahead) next_ = until;
  return ahead;
}

void FlowOrder::thrown_away_from(Psn psn) {
  if (psn_distance(psn, received_until_) > 0) received_until_ = psn;
  // An acknowledgement of more was another's.
  if (wanted_from(psn) != psn) acknowledged_until_ = psn;
}

void FlowOrder::restart() {
  const std::uint16_t pmtu_bytes = pmtu_bytes_;
  *this = FlowOrder();
  pmtu_bytes_ = pmtu_bytes;
}

}  // namespace weft::recovery
