// The seam between the recovery engine and whatever drives it: weftd's data path, a virtual-time harness, a
// fuzzer.
//
//   driver                                engine
//     frame arrived on a port  ──receive──▶  decides; calls back:
//     FrameIo::send/retain/... ◀──────────  send(port, frame), retain(frame), release(frame), allocate()
//     clock                    ──tick─────▶  timers (holds, block timers, feedback)
//
// The engine has no sockets, clock, threads or randomness of its own. It is single-threaded: one engine per
// lane, all calls from that lane's worker.
//
// Ownership. Every frame has a reference count kept by the driver. receive() hands the engine one reference,
// which it must spend: by send() (the driver keeps it until the transmission completes), by keeping the frame
// in a hold queue or for decoding, or by release(). retain() makes another. A frame whose bytes are being
// referenced by anybody else must not be written to; bytes() of a frame fresh from allocate() may be.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "agent/base/bytes.h"

namespace weft::recovery {

enum class Port : std::uint8_t { kLan, kWan };

constexpr Port opposite(Port port) { return port == Port::kLan ? Port::kWan : Port::kLan; }

// Monotonic time since an arbitrary start; the driver reads the clock once per batch.
using Time = std::chrono::nanoseconds;

// Names a frame of the driver's pool. Meaningful only to the driver that made it.
struct FrameId {
  std::uint64_t value = 0;
  friend bool operator==(FrameId, FrameId) = default;
};

class FrameIo {
 public:
  virtual ~FrameIo() = default;

  // A frame to write `frame_bytes` bytes into, with one reference; nullopt when the pool is at its low-water
  // mark (the engine then goes without: a repair is not sent, a packet is not recovered; both are counted).
  virtual std::optional<FrameId> allocate(std::size_t frame_bytes) = 0;
  // The whole Ethernet frame, contiguous. Valid while a reference is held.
  virtual ByteView bytes(FrameId frame) = 0;
  virtual MutableByteView writable_bytes(FrameId frame) = 0;
  virtual void retain(FrameId frame) = 0;
  virtual void release(FrameId frame) = 0;
  // Transmits and spends one reference. Order among frames sent to one port is kept.
  virtual void send(Port port, FrameId frame) = 0;
  // True while the pool is below its low-water mark: the engine then releases held and kept frames, oldest
  // first.
  virtual bool scarce() const = 0;
};

}  // namespace weft::recovery
