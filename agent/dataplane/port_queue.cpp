#include "agent/dataplane/port_queue.h"

#include <algorithm>
#include <cstring>

#include "agent/base/copy_bytes.h"

namespace weft::dataplane {
namespace {

// In copy mode the kernel sends about 32 frames a call: enough calls for a whole ring.
constexpr int kMaxKicks = kTxRingEntries / 32;

// Received buffers the fill ring may be short of before it is filled up again.
constexpr std::uint32_t kRefillFrames = kBatchFrames / 2;

// The kernel puts the metadata right in front of the frame.
weft_meta read_meta(const std::uint8_t* frame_bytes) {
  weft_meta meta{};
  std::memcpy(&meta, frame_bytes - sizeof(meta), sizeof(meta));
  return meta.magic == WEFT_META_MAGIC ? meta : weft_meta{};
}

}  // namespace

std::span<Received> PortQueue::receive(std::span<Received, kBatchFrames> out) {
  std::size_t frames = 0;
  const std::uint32_t buffers = socket_.rx().available(kBatchFrames);
  // Another CPU wrote them: let metadata and headers travel while the first ones are being handled.
  for (std::uint32_t i = 0; i < buffers; ++i) {
    const std::uint8_t* frame = pool_->memory_at(socket_.rx().peek(i).addr);
    __builtin_prefetch(frame - sizeof(weft_meta));
    __builtin_prefetch(frame);
  }
  for (std::uint32_t i = 0; i < buffers; ++i) {
    const xdp_desc& descriptor = socket_.rx().peek(i);
    const ChunkIndex chunk = pool_->frame_at(descriptor.addr);
    pool_->set_extent(chunk, descriptor.addr % kChunkBytes, descriptor.len);
    parts_.push_back(chunk);
    if ((descriptor.options & XDP_PKT_CONTD) != 0) continue;
    if (const auto received = assemble()) out[frames++] = *received;
    parts_.clear();
  }
  if (buffers > 0) socket_.rx().release(buffers);
  fill_owed_ += buffers;
  return out.first(frames);
}

std::optional<Received> PortQueue::assemble() {
  const std::span<std::uint8_t> first = pool_->bytes(parts_.front());
  Received received{parts_.front(), read_meta(first.data())};
  std::size_t frame_bytes = first.size();
  if (parts_.size() > 1) {
    frame_bytes = 0;
    for (const ChunkIndex part : parts_) {
      frame_bytes += pool_->bytes(part).size();
    }
    const auto whole = frame_bytes <= kMaxFrameBytes ? pool_->allocate(frame_bytes) : std::nullopt;
    std::uint8_t* to = whole ? pool_->bytes(*whole).data() : nullptr;
    for (const ChunkIndex part : parts_) {
      const std::span<const std::uint8_t> from = pool_->bytes(part);
      if (to != nullptr) to = copy_bytes(from, to);
      pool_->release(part);
    }
    if (!whole) {
      counters_->rx_no_frame.add();
      return std::nullopt;
    }
    received.frame = *whole;
    counters_->linearised.add();
  }
  if (received.meta.magic == 0) counters_->rx_no_metadata.add();
  counters_->received.add();
  counters_->received_bytes.add(frame_bytes);
  return received;
}

void PortQueue::send(ChunkIndex frame) {
  const auto length_bytes = static_cast<std::uint32_t>(pool_->bytes(frame).size());
  const std::uint64_t address = pool_->address(frame);
  const std::uint32_t in_first =
      std::min(length_bytes, static_cast<std::uint32_t>(kChunkBytes - address % kChunkBytes));
  const std::uint32_t buffers = length_bytes > in_first ? 2 : 1;
  if (socket_.tx().free_entries() < buffers) {
    flush();
    reclaim();
    if (socket_.tx().free_entries() < buffers) {
      counters_->tx_dropped.add();
      pool_->release(frame);
      return;
    }
  }
  socket_.tx().push({address, in_first, buffers == 2 ? static_cast<__u32>(XDP_PKT_CONTD) : 0});
  if (buffers == 2) {
    pool_->retain(frame);  // each buffer is completed on its own
    socket_.tx().push({address + in_first, length_bytes - in_first, 0});
  }
  tx_buffers_ += buffers;
  tx_pending_ = true;
  counters_->sent.add();
  counters_->sent_bytes.add(length_bytes);
}

void PortQueue::flush() {
  if (tx_pending_) {
    socket_.tx().submit();
    tx_pending_ = false;
  }
  std::uint32_t left = socket_.tx().outstanding();
  if (left == 0 || !socket_.tx().needs_wakeup()) return;
  for (int kick = 0; kick < kMaxKicks && socket_.kick_transmit(); ++kick) {
    const std::uint32_t before = left;
    left = socket_.tx().outstanding();
    if (left == 0) return;
    // Completions that nobody took block the kernel as much as a full send buffer does.
    if (left == before) {
      reclaim();
      return;
    }
  }
}

void PortQueue::reclaim() {
  const std::uint32_t done = socket_.completion().available(kCompletionRingEntries);
  for (std::uint32_t i = 0; i < done; ++i) {
    pool_->release(pool_->frame_at(socket_.completion().peek(i)));
  }
  if (done == 0) return;
  socket_.completion().release(done);
  tx_buffers_ -= done;
}

void PortQueue::refill() {
  // Reading what the kernel has consumed would take the cache line from it for every batch; what was received
  // says as much.
  if (fill_owed_ < kRefillFrames) return;
  ProducerRing<std::uint64_t>& fill = socket_.fill();
  const std::uint32_t wanted = std::min(fill_owed_, fill.free_entries());
  std::uint32_t given = 0;
  for (; given < wanted; ++given) {
    const auto chunk = pool_->allocate(kChunkBytes);
    if (!chunk) {
      counters_->fill_starved.add();
      break;
    }
    fill.push(pool_->address(*chunk));
  }
  fill_owed_ -= given;
  fill.submit();
  if (fill.needs_wakeup()) socket_.kick_receive();
}

std::uint32_t PortQueue::discard_received() {
  const std::uint32_t buffers = socket_.rx().available(kRxRingEntries);
  for (std::uint32_t i = 0; i < buffers; ++i) {
    pool_->release(pool_->frame_at(socket_.rx().peek(i).addr));
  }
  for (const ChunkIndex part : parts_) {
    pool_->release(part);
  }
  parts_.clear();
  if (buffers > 0) socket_.rx().release(buffers);
  fill_owed_ += buffers;
  counters_->rx_stale.add(buffers);
  return buffers;
}

}  // namespace weft::dataplane
