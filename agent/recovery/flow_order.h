// The order of one flow as its receiver will see it: which PSN comes next, and what to do with one that is not it.
//
//            next                 arrived
//   ──delivered──┤  gap (missing)  ├────▶ PSN
//
// RC receivers are go-back-N: behind a gap they throw everything away, so the packets behind one are held until it is
// closed or given up. Given up ("passing"): packets go by unheld, since the endpoint's own recovery will bring the
// missing PSN again; its arrival ends that. Old PSNs are retransmissions and always pass; two of them in sequence, or
// one where a NAK asked for it, show that the sender has gone back, and the order goes back with it, so that losses
// among retransmissions are repaired like any other.
//
// Responses echo the requester's PSNs. Acknowledgements coalesce, so a jump of theirs is no gap; READ responses of one
// message follow each other without gaps. UC has no retransmission: what was given up is not coming, order goes on
// behind it. UD and CNP have no order.
//
// A value type without frames or clocks: the caller holds, sends and keeps time.
#pragma once

#include <cstdint>
#include <optional>

#include "agent/recovery/engine_io.h"
#include "agent/roce/headers.h"
#include "agent/roce/opcode.h"
#include "agent/roce/psn.h"
#include "agent/roce/view.h"

namespace weft::recovery {

// A longer gap cannot be closed by anything: the PSNs belong to a queue pair that was made anew.
inline constexpr std::uint32_t kMaxGapPackets = 8192;
// Older than any packet that may still be unacknowledged, at 400 Gbit/s and 60 ms.
inline constexpr std::int32_t kMaxAgePackets = 1 << 21;

enum class Verdict : std::uint8_t {
  kInOrder,   // forward; the order has moved behind it, look at what is held
  kOld,       // forward: a retransmission of what the receiver has, or threw away
  kAhead,     // hold: there is a gap before it
  kPassing,   // forward: the gap before it was given up
  kNewEpoch,  // forward what is held, then this; the order starts anew behind it
};

// How soon, and how late, a sender that was told to go back is heard again: the packet asked for comes no earlier and,
// if at all, no later after the question.
struct ResendDelay {
  Time least{};
  Time most{};
};

// What order depends on in a packet.
struct OrderFacts {
  roce::Psn psn;
  const roce::OpcodeInfo* op = nullptr;
  std::uint32_t read_length_bytes = 0;  // of a READ request
  bool resent = false;                  // an old PSN that is evidently not the packet that came before

  static OrderFacts of(const roce::PacketView& view) {
    OrderFacts facts{.psn = view.psn(), .op = &view.op(), .read_length_bytes = 0, .resent = false};
    if (view.op().operation == roce::Operation::kReadRequest)
      facts.read_length_bytes = view.reth()->length_bytes;
    return facts;
  }
};

// READ data that belongs to the packet before it.
inline bool continues_read_response(const roce::OpcodeInfo& op) {
  return op.operation == roce::Operation::kReadResponse && !op.starts_message();
}

class FlowOrder {
 public:
  // `first_held`: the oldest packet that waits behind a gap. `hold_gaps`: false while the flow is not known to be
  // protected: then nothing is ever ahead.
  Verdict arrive(const OrderFacts& facts, std::optional<roce::Psn> first_held, bool hold_gaps, Time now,
                 const ResendDelay& resend_delay);

  // A packet taken out of the hold queue, or made to close the gap, whose turn it is: moves behind it.
  void advance(const OrderFacts& facts);
  // True when this held packet is next, given what was delivered.
  bool is_next(const OrderFacts& facts) const;

  // The gap before `next()` is given up.
  void give_up(Time now, bool unreliable, roce::Psn behind_held);
  // A NAK or RNR NAK for this PSN was sent to the requester: expect it again. The rewind takes place when the
  // retransmission begins; until then the packets in flight pass as they would. Before a round trip is over and after
  // patience is, an old PSN has another reason.
  struct Between {
    Time earliest{};
    Time latest{};
  };
  void expect_rewind(roce::Psn psn, const Between& when);
  bool rewind_expected() const { return rewind_.has_value(); }
  // Without a packet that would show that it is over.
  bool rewind_expected_at(Time now) const { return rewind_ && now <= rewind_expected_.latest; }
  // The receiver says that it has everything before this PSN: it wants nothing before it any more, wherever its sender
  // goes back to. While packets pass it may get on without the order's knowing: what passes may be just what it waits
  // for. True: the order has moved; some of what is held may be old, or next.
  bool receiver_has(roce::Psn until);
  // The receiver has answered for packets in the order kept here. Where the order began, or went on behind a gap without
  // the missing one, the receiver may wait for one that nobody here has seen and throw everything away, until it answers.
  bool in_step() const { return in_step_; }
  // Whether a packet of this PSN is of use to the receiver: not if it has it, nor if it was told to do without.
  bool wants(roce::Psn psn) const {
    if (!started_ || passing_) return false;
    return roce::psn_at_or_before(rewind_ ? wanted_from(*rewind_) : next_, psn);
  }
  // Forgets the order; the next packet starts it.
  void restart();

  bool started() const { return started_; }
  roce::Psn next() const { return next_; }
  // One past the newest PSN forwarded in this epoch: the receiver can have acknowledged nothing at or after it.
  roce::Psn forwarded_until() const { return forwarded_until_; }
  // One past the newest PSN that came to the receiver in its turn, and so may be in memory.
  roce::Psn received_until() const { return received_until_; }
  // The receiver has said that it threw away everything from this PSN on.
  void thrown_away_from(roce::Psn psn);
  bool passing() const { return passing_; }
  // When the sender was last seen to go back. What came before will be sent again; what came since was not lost.
  Time went_back_at() const { return went_back_at_; }
  // Whether it has gone back since `delivered_at` to where a NAK asked it to, before this PSN: the receiver threw away
  // what was delivered of it then. A NAK alone does not say so, since it may be another flow's.
  bool thrown_away_since(Time delivered_at, roce::Psn psn) const {
    return asked_again_ && delivered_at < asked_again_->at && roce::psn_at_or_before(asked_again_->from, psn);
  }
  // A READ request was delivered whose PSN count is unknown: what seems missing may never have been a packet.
  bool after_read() const { return read_length_bytes_ != 0; }
  bool mid_read_response() const { return mid_read_response_; }
  // PMTU, 0 while unknown.
  std::uint16_t pmtu_bytes() const { return pmtu_bytes_; }
  void learn_pmtu(std::uint32_t payload_bytes) {
    if (roce::is_pmtu(payload_bytes)) pmtu_bytes_ = static_cast<std::uint16_t>(payload_bytes);
  }
  // The PSN that follows this packet.
  roce::Psn behind(const OrderFacts& facts) const { return facts.psn + psn_span(facts); }

 private:
  std::uint32_t psn_span(const OrderFacts& facts) const;
  void begin_at(roce::Psn psn);
  void step_over_to(roce::Psn psn);
  void go_back_with_sender(const OrderFacts& facts, Time now);
  bool gaps_count_before(const OrderFacts& facts) const;
  // From here on, or from as far behind it as the receiver has acknowledged.
  roce::Psn wanted_from(roce::Psn psn) const {
    const bool has_more = acknowledged_until_ && roce::psn_before(psn, *acknowledged_until_) &&
                          roce::psn_at_or_before(*acknowledged_until_, forwarded_until_);
    return has_more ? *acknowledged_until_ : psn;
  }
  void note_forwarded(roce::Psn until) {
    if (roce::psn_before(forwarded_until_, until)) forwarded_until_ = until;
  }
  void accept_read_jump(roce::Psn psn);

  bool started_ = false;
  bool passing_ = false;
  bool mid_read_response_ = false;
  bool in_step_ = false;
  std::uint16_t pmtu_bytes_ = 0;
  roce::Psn next_;
  roce::Psn forwarded_until_;
  roce::Psn received_until_;
  roce::Psn in_turn_until_;  // as received_until_, whatever was thrown away of it
  std::optional<roce::Psn> acknowledged_until_;
  roce::Psn step_from_;  // a receiver that has everything before this one is in step
  Time passing_since_{};
  Time went_back_at_{};
  roce::Psn passing_next_;  // where an unbroken run of passing packets continues
  std::optional<roce::Psn> rewind_;
  Between rewind_expected_;
  struct Resent {
    roce::Psn first;
    roce::Psn next;
  };
  std::optional<Resent> resent_;  // the last old PSN that was sent anew, and what would follow it
  struct AskedAgain {
    roce::Psn from;
    Time at{};  // when the sender was seen to obey
  };
  std::optional<AskedAgain> asked_again_;  // the last time
  // The READ request before next_, while its PSN count is unknown.
  std::uint32_t read_length_bytes_ = 0;
  roce::Psn read_psn_;
};

}  // namespace weft::recovery
