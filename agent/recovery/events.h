// Every branch of the recovery engine that matters to an operator, as a counter by class (P8). Property tests
// print the hit count of each and fail when one stays at zero, so a branch nobody exercises is seen.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agent/recovery/policy.h"

namespace weft::recovery {

// X(enumerator, "metric_name"). Packets unless the name says bytes.
#define WEFT_RECOVERY_EVENTS(X)                             \
  /* encoder side: lan -> wan */                            \
  X(kSourceSent, "source_sent")                             \
  X(kSourceSentBytes, "source_sent_bytes")                  \
  X(kSourceUncoded, "source_uncoded")                       \
  X(kEncodeSkippedNoPeer, "encode_skipped_no_peer")         \
  X(kEncodeSkippedTooLarge, "encode_skipped_too_large")     \
  X(kEncodeSkippedFlowCap, "encode_skipped_flow_cap")       \
  X(kEncodeSkippedOverhead, "encode_skipped_overhead")      \
  X(kEncodeSkippedNoGroup, "encode_skipped_no_group")       \
  X(kGroupWeakened, "group_weakened")                       \
  X(kGroupClosedFull, "group_closed_full")                  \
  X(kGroupClosedMessageEnd, "group_closed_message_end")     \
  X(kGroupClosedTimer, "group_closed_timer")                \
  X(kGroupClosedList, "group_closed_list")                  \
  X(kRepairSent, "repair_sent")                             \
  X(kRepairSentBytes, "repair_sent_bytes")                  \
  X(kRepairResent, "repair_resent")                         \
  X(kRepairDroppedBudget, "repair_dropped_budget")          \
  X(kRepairDroppedNoFrame, "repair_dropped_no_frame")       \
  X(kManifestSent, "manifest_sent")                         \
  X(kManifestResent, "manifest_resent")                     \
  X(kManifestDroppedBudget, "manifest_dropped_budget")      \
  X(kAnnouncementSent, "announcement_sent")                 \
  X(kFeedbackSent, "feedback_sent")                         \
  X(kHelloSent, "hello_sent")                               \
  X(kControlSentBytes, "control_sent_bytes")                \
  X(kControlDroppedBudget, "control_dropped_budget")        \
  X(kControlDroppedNoFrame, "control_dropped_no_frame")     \
  X(kAckCopySent, "ack_copy_sent")                          \
  X(kAckCopyEvicted, "ack_copy_evicted")                    \
  /* restorer side: wan -> lan */                           \
  X(kSourceReceived, "source_received")                     \
  X(kSourceReceivedBytes, "source_received_bytes")          \
  X(kSourceBadIcrc, "source_bad_icrc")                      \
  X(kSourceCeMarked, "source_ce_marked")                    \
  X(kSourceRetransmission, "source_retransmission")         \
  X(kSourceEpochChange, "source_epoch_change")              \
  X(kSourceUntracked, "source_untracked")                   \
  X(kFlowRefused, "flow_refused")                           \
  X(kDuplicateDropped, "duplicate_dropped")                 \
  X(kHeld, "held")                                          \
  X(kHeldClosedByArrival, "held_closed_by_arrival")         \
  X(kHeldClosedByFec, "held_closed_by_fec")                 \
  X(kHeldClosedByFill, "held_closed_by_fill")               \
  X(kReleasedTimeout, "released_timeout")                   \
  X(kReleasedNotListed, "released_not_listed")              \
  X(kReleasedUndecodable, "released_undecodable")           \
  X(kReleasedUncoded, "released_uncoded")                   \
  X(kReleasedCap, "released_cap")                           \
  X(kReleasedScarce, "released_scarce")                     \
  X(kReleasedPeerLost, "released_peer_lost")                \
  X(kStaleDropped, "stale_dropped")                         \
  X(kLostPackets, "lost_packets")                           \
  X(kRecovered, "recovered")                                \
  X(kRecoveredBytes, "recovered_bytes")                     \
  X(kRecoveredTooLate, "recovered_too_late")                \
  X(kRecoveredBadIcrc, "recovered_bad_icrc")                \
  X(kRecoveredOldEpoch, "recovered_old_epoch")              \
  X(kRecoveryNoFrame, "recovery_no_frame")                  \
  X(kRepairReceived, "repair_received")                     \
  X(kRepairUnused, "repair_unused")                         \
  X(kRepairUnknownFlow, "repair_unknown_flow")              \
  X(kRepairMalformed, "repair_malformed")                   \
  X(kManifestReceived, "manifest_received")                 \
  X(kManifestUnknownFlow, "manifest_unknown_flow")          \
  X(kManifestMalformed, "manifest_malformed")               \
  X(kBlockUndecodable, "block_undecodable")                 \
  X(kBlockEvicted, "block_evicted")                         \
  X(kKeptEvicted, "kept_evicted")                           \
  X(kMissingEvicted, "missing_evicted")                     \
  X(kFlowEvicted, "flow_evicted")                           \
  X(kFlowNoticeRefused, "flow_notice_refused")              \
  X(kAnnouncementForeign, "announcement_foreign")           \
  X(kFilled, "filled")                                      \
  X(kFilledBytes, "filled_bytes")                           \
  X(kFilledAgain, "filled_again")                           \
  X(kFilledLateArrival, "filled_late_arrival")              \
  X(kFillRefusedBudget, "fill_refused_budget")              \
  X(kFillRefusedMessageCap, "fill_refused_message_cap")     \
  X(kFillRefusedSmallMessage, "fill_refused_small_message") \
  X(kFillRefusedNotProven, "fill_refused_not_proven")       \
  X(kFillRefusedDelivered, "fill_refused_delivered")        \
  X(kFillRefusedNoDescriptor, "fill_refused_no_descriptor") \
  X(kFillRefusedOpcode, "fill_refused_opcode")              \
  X(kFillRefusedAmbiguous, "fill_refused_ambiguous")        \
  X(kFillRefusedLedgerFull, "fill_refused_ledger_full")     \
  X(kFillReported, "fill_reported")                         \
  X(kFillCancelled, "fill_cancelled")                       \
  X(kRewindNak, "rewind_nak")                               \
  X(kRewindRnr, "rewind_rnr")                               \
  X(kAckCopyDelivered, "ack_copy_delivered")                \
  X(kAckCopyStale, "ack_copy_stale")                        \
  X(kAckCopyMalformed, "ack_copy_malformed")                \
  /* Weft packets as such */                                \
  X(kWeftBadTag, "weft_bad_tag")                            \
  X(kWeftReplayed, "weft_replayed")                         \
  X(kWeftUnknownPeer, "weft_unknown_peer")                  \
  X(kWeftUnknownSender, "weft_unknown_sender")              \
  X(kWeftOtherVersion, "weft_other_version")                \
  X(kWeftNotReady, "weft_not_ready")                        \
  X(kWeftMalformed, "weft_malformed")                       \
  /* passed to the opposite port untouched */               \
  X(kPassedNotOurs, "passed_not_ours")                      \
  X(kPassedNoPeer, "passed_no_peer")                        \
  X(kPeerUp, "peer_up")                                     \
  X(kPeerDown, "peer_down")                                 \
  X(kPeerRestarted, "peer_restarted")

enum class Event : std::uint8_t {
#define X(enumerator, name) enumerator,
  WEFT_RECOVERY_EVENTS(X)
#undef X
};

inline constexpr std::array kEventNames{
#define X(enumerator, name) std::string_view(name),
    WEFT_RECOVERY_EVENTS(X)
#undef X
};
inline constexpr std::size_t kEventCount = kEventNames.size();

// One per peer, and one for what belongs to none. Written and read by the engine's thread; others get copies.
class Counters {
 public:
  // Adds another's counts to these.
  void add(const Counters& other) {
    for (std::size_t c = 0; c < kMaxClasses; ++c) {
      for (std::size_t e = 0; e < kEventCount; ++e)
        counts_[c][e] += other.counts_[c][e];
    }
  }

  void add(Event event, ClassId class_id, std::uint64_t amount = 1) {
    counts_[class_id][static_cast<std::size_t>(event)] += amount;
  }
  std::uint64_t get(Event event, ClassId class_id) const {
    return counts_[class_id][static_cast<std::size_t>(event)];
  }
  std::uint64_t total(Event event) const {
    std::uint64_t sum = 0;
    for (const auto& of_class : counts_)
      sum += of_class[static_cast<std::size_t>(event)];
    return sum;
  }

 private:
  std::array<std::array<std::uint64_t, kEventCount>, kMaxClasses> counts_{};
};

}  // namespace weft::recovery
