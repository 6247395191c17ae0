// The frames of one worker: a slice of the UMEM as chunks with reference counts. No locks: one thread.
//
// A frame is one chunk, or two adjacent ones (an even chunk and its successor) when it is longer than a chunk;
// either way its bytes are contiguous. Frames are named by the index of their first chunk within the slice.
//
//   state of a chunk        who may touch it                     leaves by
//   free, alone or paired   the pool                             allocate()
//   head of a frame         whoever holds a reference;           the last release()
//                           writing only while nobody else does
//   tail of a frame         as its head                          with its head
//
// References are held by: the fill ring (one, from refill to arrival), a received batch (one, from arrival to
// the processor), the transmit ring (one per descriptor, from send to completion), and the processor (what it
// holds for order or keeps for decoding). A chunk whose references are all gone is free at once; two free
// neighbours become a pair again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "agent/dataplane/umem.h"

namespace weft::dataplane {

using ChunkIndex = std::uint32_t;

inline constexpr std::size_t kMaxFrameBytes = 2 * kChunkBytes;

class FramePool {
 public:
  // `memory` is a whole, even number of chunks that start at UMEM address `base_address`. It outlives the pool.
  FramePool(std::span<std::uint8_t> memory, std::uint64_t base_address);

  // A frame of `frame_bytes` (at most kMaxFrameBytes) at offset 0 with one reference; nullopt when none is left.
  std::optional<ChunkIndex> allocate(std::size_t frame_bytes);
  void retain(ChunkIndex frame);
  void release(ChunkIndex frame);

  // Where the frame's bytes lie: set for received frames, whose data starts behind the kernel's headroom.
  // Offset and length stay within the frame's chunks.
  void set_extent(ChunkIndex frame, std::size_t offset, std::size_t frame_bytes);
  std::span<std::uint8_t> bytes(ChunkIndex frame);

  // UMEM addresses and back. A tail's address gives its head.
  std::uint64_t address(ChunkIndex frame) const;
  ChunkIndex frame_at(std::uint64_t address) const;
  const std::uint8_t* memory_at(std::uint64_t address) const { return &memory_[address - base_address_]; }

  std::size_t chunks() const { return chunks_.size(); }
  std::size_t free_chunks() const { return free_chunks_; }
  // Chunks a frame takes: 1 or 2.
  std::size_t chunks_of(ChunkIndex frame) const { return chunks_[frame].paired ? 2 : 1; }

 private:
  static constexpr ChunkIndex kNone = UINT32_MAX;

  struct Chunk {
    ChunkIndex next = kNone;  // in a free list
    ChunkIndex previous = kNone;
    std::uint32_t length_bytes = 0;
    std::uint16_t offset = 0;
    std::uint16_t references = 0;  // of a head
    bool paired = false;           // with its buddy: as one free pair or one frame
    bool tail = false;             // of a frame
  };

  // Intrusive doubly linked lists: a buddy can be taken out of the middle. Newest first, for warm caches.
  struct List {
    ChunkIndex first = kNone;
  };
  void push(List& list, ChunkIndex chunk);
  void remove(List& list, ChunkIndex chunk);
  ChunkIndex take_single();
  ChunkIndex take_pair();
  void free_single(ChunkIndex chunk);

  std::span<std::uint8_t> memory_;
  std::uint64_t base_address_;
  std::vector<Chunk> chunks_;
  List singles_;
  List pairs_;  // even chunks
  std::size_t free_chunks_;
};

}  // namespace weft::dataplane
