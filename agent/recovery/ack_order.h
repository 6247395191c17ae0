// What was delivered last in a response flow, to judge copies of its acknowledgements by.
//
// A copy is worth delivering only when neither its original nor anything newer was delivered. Newer is a later PSN; at
// one PSN, an acknowledgement is newer than the NAKs that preceded it. What is further ahead than any receiver can get
// between two acknowledgements is of another life of the queue pair, and stale. A copy of a NAK is delivered at most once for
// ever: a second one could make the requester go back a second time.
#pragma once

#include <cstdint>
#include <optional>

#include "agent/recovery/flow_order.h"
#include "agent/roce/headers.h"
#include "agent/roce/psn.h"

namespace weft::recovery {

class AckOrder {
 public:
  struct Ack {
    roce::Psn psn;
    std::uint8_t syndrome = 0;
    std::uint32_t icrc = 0;
  };

  void delivered(const Ack& ack) {
    if (!newest_ || roce::psn_at_or_before(newest_->psn, ack.psn) || of_another_life(ack.psn)) newest_ = ack;
  }
  // Of READ data and the like: newer than every acknowledgement before it.
  void delivered_data(roce::Psn psn) {
    if (!newest_ || roce::psn_before(newest_->psn, psn) || of_another_life(psn))
      newest_ = Ack{.psn = psn, .syndrome = 0, .icrc = 0};
  }

  bool copy_is_news(const Ack& copy) const {
    const bool nak = !roce::is_ack(copy.syndrome);
    // A flow nobody has seen: an ACK too many is harmless, a NAK is not.
    if (!newest_) return !nak;
    if (newest_->psn != copy.psn) {
      const std::int32_t ahead = roce::psn_distance(newest_->psn, copy.psn);
      return ahead > 0 && ahead <= static_cast<std::int32_t>(kMaxGapPackets);
    }
    return !nak && !roce::is_ack(newest_->syndrome);
  }

 private:
  // So old that the queue pair was made anew.
  bool of_another_life(roce::Psn psn) const {
    return roce::psn_distance(newest_->psn, psn) < -kMaxAgePackets;
  }

  std::optional<Ack> newest_;
};

}  // namespace weft::recovery
