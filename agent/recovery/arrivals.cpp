#include "agent/recovery/arrivals.h"

#include <algorithm>
#include <bit>

namespace weft::recovery {

Arrivals::Arrivals(FrameIo& io, std::size_t max_records, std::size_t max_frames)
    : io_(io),
      max_frames_(std::max<std::size_t>(max_frames, 1)),
      ring_(std::bit_ceil(std::max<std::size_t>(max_records, 1))),
      buckets_(ring_.size(), kNone) {}

Arrivals::~Arrivals() { clear(); }

std::uint32_t Arrivals::bucket_of(FlowHandle flow, roce::Psn psn) const {
  // Consecutive PSNs of a flow fall into consecutive buckets: no collisions within a flow, and the cache likes it.
  return (flow * 0x9e3779b1U + psn.value) & static_cast<std::uint32_t>(buckets_.size() - 1);
}

// The last of its bucket, too. Reached from behind: a flow may have one PSN in thousands of records (a receiver that is
// sent a whole window again answers every packet of it alike).
void Arrivals::unlink_oldest() {
  const Record& oldest = ring_[tail_ & (ring_.size() - 1)];
  if (oldest.newer_in_bucket == kNone) {
    buckets_[bucket_of(oldest.name.flow, oldest.name.psn)] = kNone;
  } else {
    ring_[oldest.newer_in_bucket].older_in_bucket = kNone;
  }
}

std::size_t Arrivals::add(const SourceName& name, std::uint32_t epoch, FrameId frame, bool keep_frame,
                          Time now) {
  std::size_t let_go = 0;
  const std::uint64_t mask = ring_.size() - 1;
  if (head_ - tail_ == ring_.size()) {
    const auto oldest = static_cast<std::uint32_t>(tail_ & mask);
    if (ring_[oldest].has_frame) {
      drop_frame(ring_[oldest]);
      ++let_go;
    }
    unlink_oldest();
    ++tail_;
    frame_tail_ = std::max(frame_tail_, tail_);
  }
  if (keep_frame && frames_ == max_frames_ && drop_oldest_frame()) ++let_go;

  const auto slot = static_cast<std::uint32_t>(head_++ & mask);
  std::uint32_t& bucket = buckets_[bucket_of(name.flow, name.psn)];
  ring_[slot] = Record{.name = name,
                       .epoch = epoch,
                       .ordinal = 0,
                       .listed = false,
                       .has_frame = keep_frame,
                       .filled = false,
                       .frame = frame,
                       .at = now,
                       .older_in_bucket = bucket,
                       .newer_in_bucket = kNone};
  if (bucket != kNone) ring_[bucket].newer_in_bucket = slot;
  bucket = slot;
  if (keep_frame) {
    io_.retain(frame);
    ++frames_;
  }
  return let_go;
}

void Arrivals::add_filled(FlowHandle flow, roce::Psn psn, std::uint32_t epoch, FrameId frame, Time now) {
  add({flow, psn, 0}, epoch, frame, false, now);
  Record& record = ring_[(head_ - 1) & (ring_.size() - 1)];
  record.filled = true;
  record.listed = true;
}

Arrivals::Record* Arrivals::find(const SourceName& name) {
  for (std::uint32_t slot = buckets_[bucket_of(name.flow, name.psn)]; slot != kNone;
       slot = ring_[slot].older_in_bucket) {
    if (ring_[slot].name == name && !ring_[slot].filled) return &ring_[slot];
  }
  return nullptr;
}

Arrivals::Record* Arrivals::find_unlisted(FlowHandle flow, roce::Psn psn) {
  Record* oldest = nullptr;  // buckets run from new to old
  for (std::uint32_t slot = buckets_[bucket_of(flow, psn)]; slot != kNone;
       slot = ring_[slot].older_in_bucket) {
    Record& record = ring_[slot];
    if (record.name.flow == flow && record.name.psn == psn && !record.listed) oldest = &record;
  }
  return oldest;
}

Arrivals::Record* Arrivals::find_psn(FlowHandle flow, roce::Psn psn, std::uint32_t epoch) {
  for (std::uint32_t slot = buckets_[bucket_of(flow, psn)]; slot != kNone;
       slot = ring_[slot].older_in_bucket) {
    Record& record = ring_[slot];
    if (record.name.flow == flow && record.name.psn == psn && record.epoch == epoch) return &record;
  }
  return nullptr;
}

const Arrivals::Record* Arrivals::find_filled(FlowHandle flow, roce::Psn psn, std::uint32_t epoch) const {
  for (std::uint32_t slot = buckets_[bucket_of(flow, psn)]; slot != kNone;
       slot = ring_[slot].older_in_bucket) {
    const Record& record = ring_[slot];
    if (record.filled && record.name.flow == flow && record.name.psn == psn && record.epoch == epoch)
      return &record;
  }
  return nullptr;
}

void Arrivals::drop_frame(Record& record) {
  if (!record.has_frame) return;
  record.has_frame = false;
  io_.release(record.frame);
  --frames_;
}

bool Arrivals::drop_oldest_frame() {
  for (; frame_tail_ < head_; ++frame_tail_) {
    Record& record = ring_[frame_tail_ & (ring_.size() - 1)];
    if (!record.has_frame) continue;
    drop_frame(record);
    return true;
  }
  return false;
}

std::size_t Arrivals::drop_oldest_frames(std::size_t count) {
  std::size_t let_go = 0;
  while (let_go < count && drop_oldest_frame())
    ++let_go;
  return let_go;
}

std::size_t Arrivals::drop_frames_before(Time limit) {
  std::size_t let_go = 0;
  for (; frame_tail_ < head_; ++frame_tail_) {
    Record& record = ring_[frame_tail_ & (ring_.size() - 1)];
    if (record.at >= limit) break;
    if (!record.has_frame) continue;
    drop_frame(record);
    ++let_go;
  }
  return let_go;
}

void Arrivals::clear() {
  drop_oldest_frames(frames_);
  std::ranges::fill(buckets_, kNone);
  tail_ = head_ = frame_tail_ = 0;
}

}  // namespace weft::recovery
