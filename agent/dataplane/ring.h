// The user-space end of the four AF_XDP rings. The kernel shares a pair of free-running 32-bit indices and an
// array of entries; who produces and who consumes is fixed per ring:
//
//   ring        producer   consumer   entry
//   fill        agent      kernel     address of a free chunk to receive into
//   rx          kernel     agent      descriptor of a received buffer
//   tx          agent      kernel     descriptor of a buffer to send
//   completion  kernel     agent      address of a buffer that has been sent
//
// One thread per ring end. The acquire/release pairs are those of net/xdp/xsk_queue.h.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "agent/dataplane/uapi.h"

namespace weft::dataplane {

// Where one ring lies in the mapping the kernel gave.
template <class Entry>
struct RingMemory {
  std::uint32_t* producer = nullptr;
  std::uint32_t* consumer = nullptr;
  std::uint32_t* flags = nullptr;
  Entry* entries = nullptr;
  std::uint32_t size = 0;  // power of two
};

template <class Entry>
class ProducerRing {
 public:
  ProducerRing() = default;
  explicit ProducerRing(RingMemory<Entry> memory) : memory_(memory), next_(*memory.producer) {}

  // Entries the kernel has not consumed yet, those not submitted included.
  std::uint32_t outstanding() const {
    return next_ - std::atomic_ref(*memory_.consumer).load(std::memory_order_acquire);
  }
  std::uint32_t free_entries() const { return memory_.size - outstanding(); }
  std::uint32_t size() const { return memory_.size; }

  // The caller has checked that there is room.
  void push(const Entry& entry) { memory_.entries[next_++ & (memory_.size - 1)] = entry; }
  // Makes everything pushed visible to the kernel.
  void submit() { std::atomic_ref(*memory_.producer).store(next_, std::memory_order_release); }

  bool needs_wakeup() const {
    return (std::atomic_ref(*memory_.flags).load(std::memory_order_relaxed) & XDP_RING_NEED_WAKEUP) != 0;
  }

 private:
  RingMemory<Entry> memory_;
  std::uint32_t next_ = 0;
};

template <class Entry>
class ConsumerRing {
 public:
  ConsumerRing() = default;
  explicit ConsumerRing(RingMemory<Entry> memory) : memory_(memory), next_(*memory.consumer) {}

  std::uint32_t available(std::uint32_t most) const {
    const std::uint32_t produced = std::atomic_ref(*memory_.producer).load(std::memory_order_acquire);
    return std::min(produced - next_, most);
  }
  // The i-th entry not yet released; i < available().
  const Entry& peek(std::uint32_t i) const { return memory_.entries[(next_ + i) & (memory_.size - 1)]; }
  void release(std::uint32_t count) {
    next_ += count;
    std::atomic_ref(*memory_.consumer).store(next_, std::memory_order_release);
  }

 private:
  RingMemory<Entry> memory_;
  std::uint32_t next_ = 0;
};

}  // namespace weft::dataplane
