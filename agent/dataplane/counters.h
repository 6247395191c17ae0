// The data path's own counters: written by one worker, read by any thread, a moment old at most.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::dataplane {

class Counter {
 public:
  // By the one writer only, so no read-modify-write instruction is needed.
  void add(std::uint64_t amount = 1) { value_.store(get() + amount, std::memory_order_relaxed); }
  std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// X(member, "metric_name"): frames, of one port and queue.
#define WEFT_QUEUE_COUNTERS(X)                                                           \
  X(received, "received")                                                                \
  X(received_bytes, "received_bytes")                                                    \
  X(sent, "sent")                                                                        \
  X(sent_bytes, "sent_bytes")                                                            \
  X(linearised, "linearised")         /* came in several buffers, copied into one */     \
  X(rx_no_frame, "rx_no_frame")       /* dropped: nowhere to copy one of those */        \
  X(rx_no_metadata, "rx_no_metadata") /* came without its tag: taken as the strictest */ \
  X(rx_stale, "rx_stale")             /* dropped: had waited through a stall */          \
  X(tx_dropped, "tx_dropped")         /* dropped: the transmit ring stayed full */       \
  X(fill_starved, "fill_starved")     /* times there was no frame to receive into */

struct QueueCounters {
#define X(member, name) Counter member;
  WEFT_QUEUE_COUNTERS(X)
#undef X
};

}  // namespace weft::dataplane
