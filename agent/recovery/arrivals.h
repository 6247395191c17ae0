// What arrived lately: one record per source packet, and, for packets that a repair may need, the frame itself.
//
// A source packet is named by (flow, PSN, fingerprint): a PSN may be sent more than once with other bytes (rdma_rxe
// gives a retransmission a new IP ID). Lists of repairs and manifests are judged against these records, and each
// record answers for one listing only, so that a retransmission whose original arrived is still seen as lost.
//
// A FIFO in a ring with a hash index beside it; nothing is allocated after construction. Bounded twice: in records,
// and in frames kept, of which the oldest is let go first. Owns one reference to every frame it keeps.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/recovery/engine_io.h"
#include "agent/roce/psn.h"

namespace weft::recovery {

// Names a flow of the restorer's flow table; never reused while anything may still refer to the old one.
using FlowHandle = std::uint32_t;
inline constexpr FlowHandle kNoFlow = 0xffffffff;

struct SourceName {
  FlowHandle flow = kNoFlow;
  roce::Psn psn;
  std::uint16_t fingerprint = 0;
  friend bool operator==(const SourceName&, const SourceName&) = default;
};

class Arrivals {
 public:
  struct Record {
    SourceName name;
    std::uint32_t epoch = 0;    // of the flow, when it arrived
    std::uint32_t ordinal = 0;  // once listed
    bool listed = false;
    bool has_frame = false;
    bool filled = false;  // not an arrival: zeros went in its place
    FrameId frame;
    Time at{};
    std::uint32_t older_in_bucket = 0;
    std::uint32_t newer_in_bucket = 0;
  };

  // Both at least 1; records are rounded up to a power of two.
  Arrivals(FrameIo& io, std::size_t max_records, std::size_t max_frames);
  ~Arrivals();
  Arrivals(const Arrivals&) = delete;
  Arrivals& operator=(const Arrivals&) = delete;

  // Takes a reference of its own to `frame` when `keep_frame`. Returns frames let go to make room.
  std::size_t add(const SourceName& name, std::uint32_t epoch, FrameId frame, bool keep_frame, Time now);

  // Remembers that a packet was made up, so that the real one is known when it comes. Lists do not see it.
  void add_filled(FlowHandle flow, roce::Psn psn, std::uint32_t epoch, FrameId frame, Time now);

  // The newest record of that name; nullptr when there is none (any more). Valid until the next add.
  Record* find(const SourceName& name);
  // The oldest record of that PSN no list has claimed yet: manifests name no fingerprint.
  Record* find_unlisted(FlowHandle flow, roce::Psn psn);
  const Record* find_filled(FlowHandle flow, roce::Psn psn, std::uint32_t epoch) const;
  // The newest record of that PSN and epoch, made up or not.
  Record* find_psn(FlowHandle flow, roce::Psn psn, std::uint32_t epoch);

  // The block this packet belongs to is complete: its frame will not be needed.
  void drop_frame(Record& record);
  // Returns how many frames were let go.
  std::size_t drop_frames_before(Time limit);
  std::size_t drop_oldest_frames(std::size_t count);
  void clear();

  std::size_t frames() const { return frames_; }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;

  std::uint32_t bucket_of(FlowHandle flow, roce::Psn psn) const;
  void unlink_oldest();
  bool drop_oldest_frame();

  FrameIo& io_;
  std::size_t max_frames_;
  std::size_t frames_ = 0;
  std::vector<Record> ring_;
  std::vector<std::uint32_t> buckets_;
  // Counts of records ever added; a record's slot is its count modulo the ring. [tail_, head_) are alive,
  // those before frame_tail_ keep no frame.
  std::uint64_t tail_ = 0;
  std::uint64_t head_ = 0;
  std::uint64_t frame_tail_ = 0;
};

}  // namespace weft::recovery
