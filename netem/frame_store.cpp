#include "netem/frame_store.h"

#include <algorithm>

namespace weft::netem {
namespace {

constexpr std::size_t kSlotsPerSlab = 1024;
constexpr std::size_t kCacheLineBytes = 64;

}  // namespace

FrameStore::FrameStore(std::size_t slot_bytes, std::size_t max_bytes)
    : slot_bytes_((slot_bytes + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes),
      max_slabs_(std::max<std::size_t>(1, max_bytes / (slot_bytes_ * kSlotsPerSlab))) {}

std::optional<FrameStore::Slot> FrameStore::acquire() {
  if (free_.empty()) {
    if (slabs_.size() == max_slabs_) return std::nullopt;
    const auto first = static_cast<Slot>(slabs_.size() * kSlotsPerSlab);
    slabs_.push_back(std::make_unique_for_overwrite<std::uint8_t[]>(slot_bytes_ * kSlotsPerSlab));
    // Last slot first, so that slots are taken in rising order and stay dense.
    for (Slot i = kSlotsPerSlab; i-- > 0;)
      free_.push_back(first + i);
  }
  const Slot slot = free_.back();
  free_.pop_back();
  return slot;
}

std::uint8_t* FrameStore::data(Slot slot) {
  return slabs_[slot / kSlotsPerSlab].get() + slot % kSlotsPerSlab * slot_bytes_;
}

}  // namespace weft::netem
