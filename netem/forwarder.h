// Plays a WanProfile between two interfaces: receives on each, asks the link model, delivers on the other at
// the time the model says. One thread.
//
//   a --recvmmsg--> [classify, Link::enter] --> deliveries by time --sendmmsg--> b      and the reverse
//
// The model is told when the kernel received a frame, not when this process got round to reading it, so a
// late process makes deliveries late (measured) but neither reorders them nor changes their fates. Between
// deliveries it sleeps; a tick bounds both wake-ups and lateness.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <queue>
#include <span>
#include <string>
#include <vector>

#include "agent/base/duration_histogram.h"
#include "agent/base/result.h"
#include "netem/counters.h"
#include "netem/frame_store.h"
#include "netem/link.h"
#include "netem/loss_log.h"
#include "netem/packet_kind.h"
#include "netem/packet_socket.h"

namespace weft::netem {

// Frames the emulator itself lost: any makes a measurement void.
struct EmulatorDrops {
  std::uint64_t receive = 0;   // by the kernel, in front of the socket
  std::uint64_t transmit = 0;  // by the interface's queue or ring
  std::uint64_t too_long = 0;  // for the buffer (segmentation offload left on?) or the outgoing MTU
  std::uint64_t no_memory = 0;
  std::uint64_t total() const { return receive + transmit + too_long + no_memory; }
};

class Forwarder {
 public:
  struct Options {
    std::uint16_t weft_port = 0;
    Nanoseconds duration{0};  // 0: until stopped
  };

  // `loss_log` may be nullptr; it outlives the forwarder.
  Forwarder(PacketSocket a, PacketSocket b, WanProfile profile, const Options& options, LossLog* loss_log);
  Forwarder(const Forwarder&) = delete;  // paths refer to sockets
  Forwarder& operator=(const Forwarder&) = delete;

  // Forwards until `stop` or the duration is over. What is on its way then is discarded.
  Status run(const std::atomic<bool>& stop);

  const DirectionCounters& counters(Direction direction) const { return paths_[index(direction)].counters; }
  EmulatorDrops drops();
  // How much later than the model said frames left.
  const DurationHistogram& lateness() const { return lateness_; }
  bool realtime() const { return realtime_; }       // false: the machine did not grant real-time priority
  Nanoseconds started() const { return started_; }  // CLOCK_MONOTONIC
  Nanoseconds elapsed() const { return elapsed_; }

 private:
  struct Delivery {
    Nanoseconds at;
    std::uint64_t order;  // among equal times, first in first out
    FrameStore::Slot slot;
    std::uint32_t offset;
    std::uint32_t frame_bytes;
    bool operator>(const Delivery& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };
  struct Path {
    Direction direction;
    PacketSocket& in;
    PacketSocket& out;
    Link link;
    Classifier classifier;
    DirectionCounters counters;
    Nanoseconds newest_entry{0};
    std::vector<FrameStore::Slot> receive_slots;  // where the next frames go
    std::priority_queue<Delivery, std::vector<Delivery>, std::greater<>> deliveries;
  };
  static std::size_t index(Direction direction) { return static_cast<std::size_t>(direction); }

  Path make_path(Direction direction, WanProfile& profile, std::uint16_t weft_port);
  Status receive_all(Path& path);
  void enter(Path& path, FrameStore::Slot slot, const PacketSocket::Received& frame);
  void schedule(Path& path, Nanoseconds at, FrameStore::Slot slot, std::size_t offset,
                std::size_t frame_bytes);
  Status deliver_due(Path& path, Nanoseconds now);
  Status send_batch(Path& path, std::span<const std::span<const std::uint8_t>> frames);
  void sleep_until_next(Nanoseconds now);

  std::array<PacketSocket, 2> sockets_;  // a, b
  FrameStore frames_;
  std::array<Path, 2> paths_;
  Options options_;
  LossLog* loss_log_;
  DurationHistogram lateness_;
  EmulatorDrops own_drops_;
  bool realtime_ = false;
  std::uint64_t next_order_ = 0;
  Nanoseconds started_{0};
  Nanoseconds elapsed_{0};
};

}  // namespace weft::netem
