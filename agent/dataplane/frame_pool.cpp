#include "agent/dataplane/frame_pool.h"

#include <cassert>

namespace weft::dataplane {
namespace {

constexpr ChunkIndex buddy(ChunkIndex chunk) { return chunk ^ 1U; }
constexpr ChunkIndex even(ChunkIndex chunk) { return chunk & ~1U; }

}  // namespace

FramePool::FramePool(std::span<std::uint8_t> memory, std::uint64_t base_address)
    : memory_(memory),
      base_address_(base_address),
      chunks_(memory.size() / kChunkBytes),
      free_chunks_(chunks_.size()) {
  assert(chunks_.size() % 2 == 0);
  for (std::size_t chunk = chunks_.size(); chunk > 0; chunk -= 2) {
    const auto head = static_cast<ChunkIndex>(chunk - 2);
    chunks_[head].paired = chunks_[head + 1].paired = true;
    push(pairs_, head);
  }
}

void FramePool::push(List& list, ChunkIndex chunk) {
  chunks_[chunk].next = list.first;
  chunks_[chunk].previous = kNone;
  if (list.first != kNone) chunks_[list.first].previous = chunk;
  list.first = chunk;
}

void FramePool::remove(List& list, ChunkIndex chunk) {
  const Chunk& gone = chunks_[chunk];
  if (gone.next != kNone) chunks_[gone.next].previous = gone.previous;
  if (gone.previous != kNone) {
    chunks_[gone.previous].next = gone.next;
  } else {
    list.first = gone.next;
  }
}

ChunkIndex FramePool::take_single() {
  if (singles_.first == kNone) {
    const ChunkIndex head = take_pair();
    if (head == kNone) return kNone;
    chunks_[head].paired = chunks_[head + 1].paired = false;
    push(singles_, head + 1);
    return head;
  }
  const ChunkIndex chunk = singles_.first;
  remove(singles_, chunk);
  return chunk;
}

ChunkIndex FramePool::take_pair() {
  const ChunkIndex head = pairs_.first;
  if (head != kNone) remove(pairs_, head);
  return head;
}

std::optional<ChunkIndex> FramePool::allocate(std::size_t frame_bytes) {
  assert(frame_bytes <= kMaxFrameBytes);
  const bool wants_pair = frame_bytes > kChunkBytes;
  const ChunkIndex head = wants_pair ? take_pair() : take_single();
  if (head == kNone) return std::nullopt;
  free_chunks_ -= wants_pair ? 2 : 1;
  if (wants_pair) chunks_[head + 1].tail = true;
  chunks_[head].references = 1;
  set_extent(head, 0, frame_bytes);
  return head;
}

void FramePool::retain(ChunkIndex frame) {
  assert(chunks_[frame].references > 0);
  ++chunks_[frame].references;
}

void FramePool::release(ChunkIndex frame) {
  Chunk& chunk = chunks_[frame];
  assert(chunk.references > 0);
  if (--chunk.references > 0) return;
  if (!chunk.paired) {
    free_single(frame);
    return;
  }
  chunks_[frame + 1].tail = false;
  free_chunks_ += 2;
  push(pairs_, frame);
}

void FramePool::free_single(ChunkIndex chunk) {
  ++free_chunks_;
  const ChunkIndex other = buddy(chunk);
  if (chunks_[other].references > 0) {
    push(singles_, chunk);
    return;
  }
  remove(singles_, other);
  chunks_[chunk].paired = chunks_[other].paired = true;
  push(pairs_, even(chunk));
}

void FramePool::set_extent(ChunkIndex frame, std::size_t offset, std::size_t frame_bytes) {
  assert(offset + frame_bytes <= chunks_of(frame) * kChunkBytes);
  chunks_[frame].offset = static_cast<std::uint16_t>(offset);
  chunks_[frame].length_bytes = static_cast<std::uint32_t>(frame_bytes);
}

std::span<std::uint8_t> FramePool::bytes(ChunkIndex frame) {
  const Chunk& chunk = chunks_[frame];
  return memory_.subspan(std::size_t{frame} * kChunkBytes + chunk.offset, chunk.length_bytes);
}

std::uint64_t FramePool::address(ChunkIndex frame) const {
  return base_address_ + std::uint64_t{frame} * kChunkBytes + chunks_[frame].offset;
}

ChunkIndex FramePool::frame_at(std::uint64_t address) const {
  const auto chunk = static_cast<ChunkIndex>((address - base_address_) / kChunkBytes);
  return chunks_[chunk].tail ? chunk - 1 : chunk;
}

}  // namespace weft::dataplane
