// The restorer's flows, by key and by handle. Bounded: when it is full a new flow is refused, so that those at work
// keep their protection. A handle is never reused while the old flow may still be referred to: it carries a
// generation.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "agent/recovery/rx_flow.h"

namespace weft::recovery {

class RxFlowTable {
 public:
  explicit RxFlowTable(std::size_t max_flows) : max_flows_(std::min<std::size_t>(max_flows, kMostFlows)) {}

  RxFlow* find(const roce::FlowKey& key) {
    if (last_ != nullptr && last_->key == key) return last_;
    const auto it = by_key_.find(key);
    if (it == by_key_.end()) return nullptr;
    last_ = &flows_[it->second];
    return last_;
  }

  RxFlow* find(FlowHandle handle) { return const_cast<RxFlow*>(std::as_const(*this).find(handle)); }
  const RxFlow* find(FlowHandle handle) const {
    const std::uint32_t slot = handle & kSlotMask;
    if (slot >= flows_.size() || flows_[slot].handle != handle || !flows_[slot].in_use) return nullptr;
    return &flows_[slot];
  }

  // nullptr when the table is full. The key is not in the table.
  RxFlow* add(const roce::FlowKey& key) {
    if (by_key_.size() >= max_flows_) return nullptr;
    auto slot = static_cast<std::uint32_t>(flows_.size());
    if (free_.empty()) {
      flows_.emplace_back();
    } else {
      slot = free_.front();
      free_.pop_front();
    }
    RxFlow& flow = flows_[slot];
    flow.key = key;
    flow.handle = generation_++ << kSlotBits | slot;
    flow.in_use = true;
    by_key_.emplace(key, slot);
    return &flow;
  }

  // Its held frames have been taken out.
  void remove(RxFlow& flow) {
    by_key_.erase(flow.key);
    free_.push_back(flow.handle & kSlotMask);
    if (last_ == &flow) last_ = nullptr;
    flow = RxFlow();
  }

  template <class Visit>
  void for_each(Visit&& visit) {
    for (RxFlow& flow : flows_) {
      if (flow.in_use) visit(flow);
    }
  }

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const RxFlow& flow : flows_) {
      if (flow.in_use) visit(flow);
    }
  }

  std::size_t size() const { return by_key_.size(); }
  std::size_t slots() const { return flows_.size(); }
  // The flow in a slot below slots(); nullptr when it is free.
  RxFlow* at_slot(std::size_t slot) { return flows_[slot].in_use ? &flows_[slot] : nullptr; }

 private:
  static constexpr unsigned kSlotBits = 18;
  static constexpr std::uint32_t kSlotMask = (1U << kSlotBits) - 1;
  static constexpr std::size_t kMostFlows = kSlotMask;  // so that kNoFlow names none

  std::size_t max_flows_;
  std::deque<RxFlow> flows_;  // stable addresses
  std::deque<std::uint32_t> free_;
  std::unordered_map<roce::FlowKey, std::uint32_t> by_key_;
  std::uint32_t generation_ = 0;
  RxFlow* last_ = nullptr;
};

}  // namespace weft::recovery
