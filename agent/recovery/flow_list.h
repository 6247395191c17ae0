// An engine's flows as the operator sees them: a copy of each, and only of the newest, so that a list stays short
// whatever the tables hold.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/recovery/engine_io.h"
#include "agent/roce/flow_key.h"
#include "agent/wire/messages.h"

namespace weft::recovery {

struct FlowStatus {
  std::string_view peer;  // valid as long as the engine
  bool sending = false;   // to the peer; else received from it
  roce::FlowKey key;
  // Known to both sides: confirmed by the peer when we send, announced by it when we receive. Before, it passes
  // unprotected; and the stream means nothing when we receive.
  bool announced = false;
  // Packets of it come to this agent; of a received flow that is announced they may go by it for a moment.
  bool arriving = true;
  wire::StreamId stream;
  bool class_known = true;         // else the peer's class ids are not ours
  std::optional<wire::FlowId> id;  // of flows we send
  std::uint32_t epoch = 0;         // orders begun, counted by this side
  std::size_t held_frames = 0;
  bool paired = false;  // a received request flow whose responses are known
  Time last_packet_at{};
};

// Keeps those with the latest packets.
class NewestFlows {
 public:
  explicit NewestFlows(std::size_t most) : most_(most) {}

  void add(const FlowStatus& flow) {
    ++seen_;
    if (kept_.size() == most_) {
      if (kept_.empty() || !later(flow, kept_.front())) return;
      std::ranges::pop_heap(kept_, later);
      kept_.pop_back();
    }
    kept_.push_back(flow);
    std::ranges::push_heap(kept_, later);
  }

  std::size_t seen() const { return seen_; }
  // The newest first; leaves nothing.
  std::vector<FlowStatus> take() {
    std::ranges::sort(kept_, later);
    return std::exchange(kept_, {});
  }

 private:
  static bool later(const FlowStatus& a, const FlowStatus& b) { return a.last_packet_at > b.last_packet_at; }

  std::size_t most_;
  std::size_t seen_ = 0;
  std::vector<FlowStatus> kept_;  // a heap with the oldest in front
};

}  // namespace weft::recovery
