#include "agent/dataplane/worker.h"

#include <algorithm>
#include <array>
#include <thread>

#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>

#include "agent/base/clock.h"

namespace weft::dataplane {
namespace {

using recovery::Port;
using recovery::Time;

constexpr Time kHeartbeatLimit{WEFT_HEARTBEAT_LIMIT_NS};
// The beat is a store to memory the programs on other CPUs read; a thousand a second keep it off their path.
constexpr Time kBeatInterval = std::chrono::milliseconds(1);
// A sleeping worker still beats several times within the limit, whatever the scheduler adds.
constexpr Time kLongestSleep = std::chrono::milliseconds(10);
// With frames the kernel has not sent yet, look again soon.
constexpr Time kTransmitRetry = std::chrono::milliseconds(1);
// What drain() waits for frames to leave. With traffic coming in faster than it goes out they never do.
constexpr Time kDrainPatience = std::chrono::milliseconds(10);
// How often run_inside() looks whether the worker is done.
constexpr auto kErrandPause = std::chrono::microseconds(200);

// Another CPU wrote the frame, and all of it will be read: by the code over it, and by the kernel when it is sent.
void prefetch(ByteView frame) {
  constexpr std::size_t kLineBytes = 64;
  for (std::size_t at = 0; at < frame.size(); at += kLineBytes)
    __builtin_prefetch(frame.data() + at);
}

ChunkIndex chunk_of(recovery::FrameId frame) { return static_cast<ChunkIndex>(frame.value); }

}  // namespace

Worker::Worker(WorkerOptions options, FramePool pool, XskSocket lan, XskSocket wan,
               volatile std::uint64_t& heartbeat, const ProcessorFactory& make_processor)
    : options_(options),
      pool_(std::move(pool)),
      ports_{PortQueue(std::move(lan), pool_), PortQueue(std::move(wan), pool_)},
      heartbeat_(heartbeat),
      processor_(make_processor(*this)) {
  for (PortQueue& port : ports_) {
    port.refill();
  }
}

void Worker::run() {
  // Sleeps end when they should, not 50 microseconds later.
  prctl(PR_SET_TIMERSLACK, 1UL);
  if (options_.cpu) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(*options_.cpu, &cpus);
    sched_setaffinity(0, sizeof(cpus), &cpus);
  }
  beaten_at_ = monotonic_now();
  heartbeat_ = static_cast<std::uint64_t>(beaten_at_.count());
  while (!stopping_.load(std::memory_order_relaxed)) {
    const Time now = monotonic_now();
    if (round(now)) {
      busy_until_ = now + options_.busy_poll;
    } else if (now >= busy_until_) {
      rest(now);
    }
  }
  drain();
}

void Worker::drain() {
  processor_->release_all();
  const Time give_up = monotonic_now() + kDrainPatience;
  bool moving = true;
  while (moving && monotonic_now() < give_up) {
    const bool received = round(monotonic_now());
    moving = received || ports_[0].transmitting() || ports_[1].transmitting();
  }
}

bool Worker::round(Time now) {
  beat(now);
  if (errand_.load(std::memory_order_relaxed) != nullptr) run_errand();
  bool received = false;
  for (const Port port : {Port::kLan, Port::kWan}) {
    received |= take_batch(port, now);
  }
  if (const auto due = processor_->next_deadline(now); due && *due <= now) processor_->tick(now);
  for (PortQueue& port : ports_) {
    port.flush();
    port.reclaim();
    port.refill();
  }
  return received;
}

bool Worker::take_batch(Port port, Time now) {
  std::array<Received, kBatchFrames> batch;
  const auto received = ports_[static_cast<std::size_t>(port)].receive(batch);
  for (std::size_t i = 0; i < received.size(); ++i) {
    const Received& item = received[i];
    if (i + 1 < received.size()) prefetch(pool_.bytes(received[i + 1].frame));
    const weft_meta& meta = item.meta;
    processor_->receive({.port = port,
                         .frame = {item.frame},
                         .tag = {.class_id = meta.class_id, .level = meta.level, .layer = meta.layer},
                         .reason = meta.magic == WEFT_META_MAGIC ? static_cast<weft_reason>(meta.reason)
                                                                 : WEFT_REASON_LEARNED,
                         .peer = meta.peer},
                        now);
  }
  return !received.empty();
}

void Worker::run_errand() {
  Errand* errand = errand_.exchange(nullptr, std::memory_order_acquire);
  if (errand == nullptr) return;
  errand->work(*processor_);
  errand->done.store(true, std::memory_order_release);
}

bool Worker::run_inside(const std::function<void(Processor&)>& work, std::chrono::nanoseconds patience) {
  Errand errand{work, {}};
  errand_.store(&errand, std::memory_order_release);
  const Time give_up = monotonic_now() + patience;
  while (!errand.done.load(std::memory_order_acquire)) {
    if (monotonic_now() > give_up) {
      // Taken back, unless the worker has begun: then it is about to finish.
      Errand* mine = &errand;
      if (errand_.compare_exchange_strong(mine, nullptr, std::memory_order_acq_rel)) return false;
    }
    std::this_thread::sleep_for(kErrandPause);
  }
  return true;
}

void Worker::beat(Time now) {
  if (now - beaten_at_ > kHeartbeatLimit) {
    // The programs have been passing packets by us. Everything received is older than those.
    for (PortQueue& port : ports_) {
      port.discard_received();
      port.refill();
    }
    processor_->reset(now);
    stalls_.add();
  }
  if (now - beaten_at_ < kBeatInterval) return;
  beaten_at_ = now;
  heartbeat_ = static_cast<std::uint64_t>(now.count());
}

void Worker::rest(Time now) {
  Time sleep = kLongestSleep;
  if (const auto due = processor_->next_deadline(now)) sleep = std::min(sleep, std::max(*due - now, Time(0)));
  if (ports_[0].transmitting() || ports_[1].transmitting()) sleep = std::min(sleep, kTransmitRetry);
  pollfd fds[] = {{ports_[0].fd(), POLLIN, 0}, {ports_[1].fd(), POLLIN, 0}};
  const timespec timeout = to_timespec(sleep);
  ppoll(fds, std::size(fds), &timeout, nullptr);
}

std::optional<recovery::FrameId> Worker::allocate(std::size_t frame_bytes) {
  if (scarce() || frame_bytes > kMaxFrameBytes) return std::nullopt;
  const auto chunk = pool_.allocate(frame_bytes);
  if (!chunk) return std::nullopt;
  return recovery::FrameId{*chunk};
}

ByteView Worker::bytes(recovery::FrameId frame) { return pool_.bytes(chunk_of(frame)); }

MutableByteView Worker::writable_bytes(recovery::FrameId frame) { return pool_.bytes(chunk_of(frame)); }

void Worker::retain(recovery::FrameId frame) { pool_.retain(chunk_of(frame)); }

void Worker::release(recovery::FrameId frame) { pool_.release(chunk_of(frame)); }

void Worker::send(Port port, recovery::FrameId frame) {
  ports_[static_cast<std::size_t>(port)].send(chunk_of(frame));
}

}  // namespace weft::dataplane
