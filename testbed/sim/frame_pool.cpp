#include "testbed/sim/frame_pool.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace weft::sim {
namespace {

constexpr std::uint8_t kPoison = 0xdd;

std::uint32_t slot_of(recovery::FrameId frame) { return static_cast<std::uint32_t>(frame.value); }
std::uint32_t generation_of(recovery::FrameId frame) { return static_cast<std::uint32_t>(frame.value >> 32); }

[[noreturn]] void misuse(const char* doing, recovery::FrameId frame, const char* what) {
  std::fprintf(stderr, "frame pool misuse: %s of frame %u generation %u: %s\n", doing, slot_of(frame),
               generation_of(frame), what);
  std::abort();
}

}  // namespace

FramePool::Slot& FramePool::alive(recovery::FrameId frame, const char* doing) {
  if (slot_of(frame) >= slots_.size()) misuse(doing, frame, "no such frame");
  Slot& slot = slots_[slot_of(frame)];
  if (slot.generation != generation_of(frame) || slot.references == 0)
    misuse(doing, frame, "its last reference was spent");
  return slot;
}

recovery::FrameId FramePool::take_slot(std::size_t frame_bytes) {
  std::uint32_t index = 0;
  if (free_.empty()) {
    index = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  Slot& slot = slots_[index];
  ++slot.generation;
  slot.references = 1;
  slot.bytes.resize(frame_bytes);
  peak_in_use_ = std::max(peak_in_use_, ++in_use_);
  return {std::uint64_t{slot.generation} << 32 | index};
}

recovery::FrameId FramePool::put(ByteView bytes) {
  const recovery::FrameId frame = take_slot(bytes.size());
  std::ranges::copy(bytes, slots_[slot_of(frame)].bytes.begin());
  return frame;
}

std::optional<recovery::FrameId> FramePool::allocate(std::size_t frame_bytes) {
  if (in_use_ >= capacity_) return std::nullopt;
  const recovery::FrameId frame = take_slot(frame_bytes);
  std::ranges::fill(slots_[slot_of(frame)].bytes, kPoison);
  return frame;
}

ByteView FramePool::bytes(recovery::FrameId frame) { return alive(frame, "read").bytes; }

MutableByteView FramePool::writable_bytes(recovery::FrameId frame) {
  Slot& slot = alive(frame, "write");
  if (slot.references != 1) misuse("write", frame, "somebody else references it");
  return slot.bytes;
}

void FramePool::retain(recovery::FrameId frame) { ++alive(frame, "retain").references; }

void FramePool::release(recovery::FrameId frame) {
  Slot& slot = alive(frame, "release");
  if (--slot.references > 0) return;
  std::ranges::fill(slot.bytes, kPoison);
  free_.push_back(slot_of(frame));
  --in_use_;
}

void FramePool::send(recovery::Port port, recovery::FrameId frame) {
  const Slot& slot = alive(frame, "send");
  if (sink_) {
    // The sink may put() or allocate(), which may move the slots: hand it a copy of its own.
    const Bytes copy = slot.bytes;
    sink_(port, frame, copy);
  } else {
    sent_.push_back({port, frame, slot.bytes});
  }
  if (slow_transmit_)
    transmitting_.push_back(frame);
  else
    release(frame);
}

void FramePool::complete_transmissions() {
  for (const recovery::FrameId frame : std::exchange(transmitting_, {}))
    release(frame);
}

std::vector<FramePool::Sent> FramePool::take_sent(recovery::Port port) {
  std::vector<Sent> taken;
  std::vector<Sent> rest;
  for (Sent& sent : sent_)
    (sent.port == port ? taken : rest).push_back(std::move(sent));
  sent_ = std::move(rest);
  return taken;
}

std::uint32_t FramePool::references(recovery::FrameId frame) const {
  if (slot_of(frame) >= slots_.size()) return 0;
  const Slot& slot = slots_[slot_of(frame)];
  return slot.generation == generation_of(frame) ? slot.references : 0;
}

}  // namespace weft::sim
