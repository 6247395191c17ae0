// One stream from the peer as the restorer knows it: its losses, and how long its repairs take to come.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "agent/recovery/fill_budget.h"
#include "agent/recovery/loss_judge.h"
#include "agent/recovery/policy.h"
#include "agent/recovery/stream_slots.h"
#include "agent/recovery/wait_bound.h"
#include "agent/wire/messages.h"

namespace weft::recovery {

struct RxStream {
  explicit RxStream(const LevelPolicy& row) : budget(row.fill_budget, row.max_fill_per_message) {}

  LossJudge judge;
  BlockSpan span;
  FillBudget budget;
  bool group_seen = false;
  std::uint32_t newest_group = 0;  // first ordinal, while group_seen
  std::optional<Time> last_repair_at;
};

// The streams of a peer; one is made when it is first spoken of.
class RxStreams {
 public:
  explicit RxStreams(const PolicyTable& policy) : policy_(policy) {}

  // The id is of a class of the policy, its path below kMaxPaths.
  RxStream& operator[](wire::StreamId id) {
    auto& stream = streams_[slot_of(id)];
    if (stream == nullptr) {
      stream =
          std::make_unique<RxStream>(policy_.level({.class_id = id.class_id, .level = id.level, .layer = 0}));
    }
    return *stream;
  }

  template <class Visit>
  void for_each(Visit&& visit) {
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      if (streams_[i] == nullptr) continue;
      visit(stream_at(i), *streams_[i]);
    }
  }

  void clear() {
    for (auto& stream : streams_)
      stream.reset();
  }

 private:
  const PolicyTable& policy_;
  std::array<std::unique_ptr<RxStream>, kStreamSlots> streams_;
};

}  // namespace weft::recovery
