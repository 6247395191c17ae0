// A frame pool for engines in virtual time and under test: the driver's side of recovery::FrameIo in memory.
//
//   FramePool pool;
//   engine.receive(Port::kLan, pool.put(frame), ...);   // one reference, the engine's to spend
//   for (const auto& sent : pool.take_sent(Port::kWan)) ...
//   EXPECT_EQ(pool.in_use(), 0U);                        // nothing leaked once the engine let go
//
// Misuse ends the program with a message that names it, since every result after it would be a lie: release
// or send of a frame that is not alive, bytes of one that was released, writing to a frame somebody else
// references. Released frames are overwritten, so that a view kept too long reads rubbish.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "agent/base/bytes.h"
#include "agent/recovery/engine_io.h"

namespace weft::sim {

class FramePool final : public recovery::FrameIo {
 public:
  struct Sent {
    recovery::Port port = recovery::Port::kWan;
    recovery::FrameId frame;  // as it was named when sent; it may have been released since
    Bytes bytes;
  };
  // Takes a frame as it is sent; the bytes are valid during the call only.
  using Sink = std::function<void(recovery::Port port, recovery::FrameId frame, ByteView bytes)>;

  // allocate() fails when all `frames` are in use; put() never does.
  explicit FramePool(std::size_t frames = 65536) : capacity_(frames) {}

  // A frame with these bytes and one reference, as a driver hands it to the engine.
  recovery::FrameId put(ByteView bytes);

  // Frames sent to one port since the last call, in order. Empty when a sink takes them.
  std::vector<Sent> take_sent(recovery::Port port);
  // From now on frames go to `sink` as they are sent, and are not recorded; an empty function ends that.
  void set_sink(Sink sink) { sink_ = std::move(sink); }

  // What scarce() answers.
  void set_scarce(bool scarce) { scarce_ = scarce; }
  // allocate() fails from this many frames in use on.
  void set_capacity(std::size_t frames) { capacity_ = frames; }
  // While true, sent frames stay in use (a driver whose transmissions take their time) until
  // complete_transmissions().
  void set_slow_transmit(bool slow) { slow_transmit_ = slow; }
  void complete_transmissions();

  // Frames with a reference, and the most there ever were.
  std::size_t in_use() const { return in_use_; }
  std::size_t peak_in_use() const { return peak_in_use_; }
  std::uint32_t references(recovery::FrameId frame) const;

  std::optional<recovery::FrameId> allocate(std::size_t frame_bytes) override;
  ByteView bytes(recovery::FrameId frame) override;
  MutableByteView writable_bytes(recovery::FrameId frame) override;
  void retain(recovery::FrameId frame) override;
  void release(recovery::FrameId frame) override;
  void send(recovery::Port port, recovery::FrameId frame) override;
  bool scarce() const override { return scarce_; }

 private:
  // A FrameId is slot and generation, so a name kept beyond the frame's life is seen as such.
  struct Slot {
    std::uint32_t generation = 0;
    std::uint32_t references = 0;
    Bytes bytes;
  };
  recovery::FrameId take_slot(std::size_t frame_bytes);
  Slot& alive(recovery::FrameId frame, const char* doing);

  std::size_t capacity_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::size_t in_use_ = 0;
  std::size_t peak_in_use_ = 0;
  bool scarce_ = false;
  bool slow_transmit_ = false;
  std::vector<recovery::FrameId> transmitting_;
  std::vector<Sent> sent_;
  Sink sink_;
};

}  // namespace weft::sim
