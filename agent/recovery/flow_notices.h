// What whoever classifies frames from the WAN must be told about flows. A peer's announcement says whose packets are
// protected; a WAN that bleaches DSCP says it no longer, so announced flows are taken by their key, and left alone
// again when the restorer has forgotten them.
//
// A list in order that a reader on another thread takes now and then. Bounded: when it is full a notice is refused, and
// the restorer tells it again later.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "agent/roce/flow_key.h"
#include "agent/wire/messages.h"

namespace weft::recovery {

struct FlowNotice {
  enum class Kind : std::uint8_t { kAnnounced, kForgotten };
  Kind kind = Kind::kAnnounced;
  roce::FlowKey key;
  wire::StreamId stream;  // of an announced one
};

class FlowNotices {
 public:
  explicit FlowNotices(std::size_t most) : most_(most) {}

  [[nodiscard]] bool add(const FlowNotice& notice) {
    if (notices_.size() == most_) return false;
    notices_.push_back(notice);
    return true;
  }
  bool empty() const { return notices_.empty(); }
  // In the order they came; leaves nothing.
  std::vector<FlowNotice> take() { return std::exchange(notices_, {}); }

 private:
  std::size_t most_;
  std::vector<FlowNotice> notices_;
};

}  // namespace weft::recovery
