// One queue of one port: an AF_XDP socket and the traffic of frames between its rings and the pool.
//
//         pool ──refill──▶ fill ring ──kernel──▶ rx ring ──receive──▶ processor
//          ▲                                                              │ send
//          └──reclaim── completion ring ◀──kernel── tx ring ◀─────────────┘
//
// A frame that came in one buffer keeps its UMEM address all the way round. One that came in several (longer
// than kSingleChunkFrameBytes) is copied once into two adjacent chunks, because whoever checks its ICRC or
// codes over it needs it whole.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "agent/dataplane/counters.h"
#include "agent/dataplane/frame_pool.h"
#include "agent/dataplane/xsk_socket.h"
#include "bpf/weft_abi.h"

namespace weft::dataplane {

// Frames handled per port before the other port has its turn: large enough to share the cost of a system call,
// small enough to stay in the first-level cache.
inline constexpr std::uint32_t kBatchFrames = 64;

// Chunks kept in the fill ring. As many as the receive ring holds: more could not arrive between two rounds.
inline constexpr std::uint32_t kFillTarget = kRxRingEntries;

struct Received {
  ChunkIndex frame = 0;  // with one reference, now the caller's
  weft_meta meta{};      // all zero when it came without
};

class PortQueue {
 public:
  // `pool` is the worker's, shared with its other port.
  PortQueue(XskSocket socket, FramePool& pool) : socket_(std::move(socket)), pool_(&pool) {}

  // Takes up to `out.size()` buffers from the receive ring; returns the whole frames among them.
  std::span<Received> receive(std::span<Received, kBatchFrames> out);
  // Queues a frame and spends one reference. Order is kept. flush() makes the kernel send.
  void send(ChunkIndex frame);
  void flush();
  // Returns sent frames to the pool, and gives the fill ring what it lacks.
  void reclaim();
  void refill();

  // Frees what has been received without looking at it; returns the number of buffers.
  std::uint32_t discard_received();

  bool transmitting() const { return tx_buffers_ != 0; }
  int fd() const { return socket_.fd(); }
  const XskSocket& socket() const { return socket_; }
  const QueueCounters& counters() const { return *counters_; }

 private:
  std::optional<Received> assemble();

  XskSocket socket_;
  FramePool* pool_;
  std::vector<ChunkIndex> parts_;          // of a frame whose last buffer has not come yet
  std::uint32_t tx_buffers_ = 0;           // sent and not completed
  std::uint32_t fill_owed_ = kFillTarget;  // what the fill ring lacks to its target
  bool tx_pending_ = false;                // pushed and not submitted
  std::unique_ptr<QueueCounters> counters_ = std::make_unique<QueueCounters>();
};

}  // namespace weft::dataplane
