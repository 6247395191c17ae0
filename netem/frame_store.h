// Room for the frames that are on their way across the WAN. A frame is written into its slot by the kernel
// and sent from there: one copy in, one out. Slots are numbered, grow by slabs, and are never given back to
// the system; untouched pages cost nothing. One owner at a time, the receive array or one delivery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace weft::netem {

class FrameStore {
 public:
  using Slot = std::uint32_t;

  // `slot_bytes` is the longest frame a slot can take.
  FrameStore(std::size_t slot_bytes, std::size_t max_bytes);

  // Nothing when max_bytes are in use.
  std::optional<Slot> acquire();
  void release(Slot slot) { free_.push_back(slot); }

  std::uint8_t* data(Slot slot);
  std::size_t slot_bytes() const { return slot_bytes_; }

 private:
  std::size_t slot_bytes_;
  std::size_t max_slabs_;
  std::vector<std::unique_ptr<std::uint8_t[]>> slabs_;
  std::vector<Slot> free_;
};

}  // namespace weft::netem
