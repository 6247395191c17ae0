// The data-path thread of one queue of both ports. It shares nothing with other workers: its slice of the
// UMEM, its sockets and its processor are its own, and it takes no locks.
//
// A round: note the heartbeat, take a batch from each port to the processor, tick the processor when due, make
// the kernel send, recycle frames. With nothing to do it spins for the busy-poll budget and then sleeps in
// poll() until a frame or a deadline comes.
//
// The heartbeat is written here and nowhere else: if this thread hangs, the XDP programs see it within
// WEFT_HEARTBEAT_LIMIT_NS and leave the traffic to the bridge. A thread that comes back after that finds
// packets in its rings that newer ones have overtaken on the bridge; it drops them and starts afresh.
//
// Memory: per worker, the chunks both fill rings are kept at, half as many again for what has arrived and what
// is being sent, and the hold bytes. At the defaults (64 MiB of hold, one queue per port) that is 3 * 2048 +
// 16384 chunks, 88 MiB. 64 MiB of hold are 16384 frames of PMTU 1024: one RTT of 30 ms at 4.7 Gbit/s; or 8192
// frames of PMTU 4096, which take two chunks each: 30 ms at 9 Gbit/s.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "agent/dataplane/port_queue.h"
#include "agent/dataplane/processor.h"

namespace weft::dataplane {

// Chunks a worker needs besides those for holding.
inline constexpr std::size_t kWorkingChunks = 3 * kFillTarget;
// Below this many free chunks the processor is told to let go of frames, and gets no new ones: the fill rings
// must find theirs. A quarter of what can arrive on both ports between two rounds.
inline constexpr std::size_t kLowWaterChunks = kFillTarget / 2;

struct WorkerOptions {
  // Stays awake this long after the last frame: lower latency for a busy core.
  std::chrono::nanoseconds busy_poll{0};
  std::optional<unsigned> cpu;  // pinned to it
};

class Worker final : public recovery::FrameIo {
 public:
  // The pool's frames are this worker's alone. `heartbeat` is its queue's word in the programs' table.
  Worker(WorkerOptions options, FramePool pool, XskSocket lan, XskSocket wan,
         volatile std::uint64_t& heartbeat, const ProcessorFactory& make_processor);
  ~Worker() override = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // The thread's body: returns after stop(), when everything received before it has been sent on.
  void run();
  // From any thread.
  void stop() { stopping_.store(true, std::memory_order_relaxed); }

  // Runs `work` on the worker's thread between two batches and waits for it: how the control thread reads or changes
  // what a processor knows, without locks on the data path. False when the worker did not come to it in time; then
  // `work` has not run and will not. One caller at a time.
  bool run_inside(const std::function<void(Processor&)>& work, std::chrono::nanoseconds patience);

  // For `work` in run_inside(): makes the processor let go of what it holds, and goes on until nothing that was taken
  // is on its way, at most 10 ms.
  void drain();

  // run_inside() after run() has returned and its thread was joined.
  void run_stopped(const std::function<void(Processor&)>& work) { work(*processor_); }

  // For other threads to read.
  const PortQueue& queue(recovery::Port port) const { return ports_[static_cast<std::size_t>(port)]; }
  recovery::Time last_beat() const { return recovery::Time(static_cast<std::int64_t>(heartbeat_)); }
  std::uint64_t stalls() const { return stalls_.get(); }

  // FrameIo, for the processor.
  std::optional<recovery::FrameId> allocate(std::size_t frame_bytes) override;
  ByteView bytes(recovery::FrameId frame) override;
  MutableByteView writable_bytes(recovery::FrameId frame) override;
  void retain(recovery::FrameId frame) override;
  void release(recovery::FrameId frame) override;
  void send(recovery::Port port, recovery::FrameId frame) override;
  bool scarce() const override { return pool_.free_chunks() < kLowWaterChunks; }

 private:
  // One round; true when any frame arrived.
  bool round(recovery::Time now);
  void run_errand();
  bool take_batch(recovery::Port port, recovery::Time now);
  void beat(recovery::Time now);
  void rest(recovery::Time now);

  WorkerOptions options_;
  FramePool pool_;
  PortQueue ports_[2];  // by Port
  volatile std::uint64_t& heartbeat_;
  std::unique_ptr<Processor> processor_;
  recovery::Time beaten_at_{0};
  recovery::Time busy_until_{0};
  Counter stalls_;
  std::atomic<bool> stopping_{false};

  struct Errand {
    std::function<void(Processor&)> work;
    std::atomic<bool> done{false};
  };
  std::atomic<Errand*> errand_{nullptr};
};

}  // namespace weft::dataplane
