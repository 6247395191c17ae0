// Sends the newest acknowledgement of a flow again when nothing newer follows it. A lost ACK is made good by
// the next one, but the last ACK of a message has no next: without the guard its loss costs the requester its
// timeout, seconds with NCCL's defaults. A NAK is guarded alike; the receiver delivers one copy of it at most.
//
// Bounded: with `max_flows` entries in use they give way in turn.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "agent/base/bytes.h"
#include "agent/recovery/engine_io.h"
#include "agent/recovery/path_headers.h"
#include "agent/roce/flow_key.h"
#include "agent/roce/view.h"
#include "agent/wire/messages.h"

namespace weft::recovery {

class AckGuard {
 public:
  explicit AckGuard(std::size_t max_flows) : max_flows_(max_flows) { entries_.reserve(max_flows); }

  // A packet of a response flow on its way to the peer. An ACK, NAK or atomic acknowledgement is remembered;
  // anything else of the flow makes what was remembered needless. False when another flow's gave way to it before all its
  // copies were sent.
  bool on_response(const roce::FlowKey& key, const roce::PacketView& view, const PathHeaders& path, Time now);

  // When a copy is due; nullopt when none is.
  std::optional<Time> next_deadline() const { return deadline_; }
  // Calls send(path, ip_packet) for each copy that is due.
  template <class Send>
  void tick(Time now, Send&& send) {
    if (!deadline_ || now < *deadline_) return;
    deadline_.reset();
    for (Entry& entry : entries_) {
      if (entry.copies_left > 0 && entry.due <= now) {
        send(entry.path, ByteView(entry.ip_packet).first(entry.packet_bytes));
        --entry.copies_left;
        entry.due = now + entry.patience * kPatienceGrowth;
      }
      if (entry.copies_left > 0) wake_at(entry.due);
    }
  }

  void clear();
  std::size_t size() const { return entries_.size(); }

 private:
  // Later copies wait longer, so that one burst of losses does not take several.
  static constexpr int kPatienceGrowth = 2;

  struct Entry {
    roce::FlowKey key;
    PathHeaders path;
    std::array<std::uint8_t, wire::kMaxAckCopyBytes> ip_packet;
    std::size_t packet_bytes = 0;
    Time last_at{};
    Time mean_gap{};
    Time patience{};
    Time due{};
    int copies_left = 0;
  };
  struct Place {
    Entry& entry;
    bool another_gave_way = false;
  };
  Place place_for(const roce::FlowKey& key, Time now);
  void wake_at(Time at) {
    if (!deadline_ || at < *deadline_) deadline_ = at;
  }

  std::size_t max_flows_;
  std::vector<Entry> entries_;
  std::unordered_map<roce::FlowKey, std::size_t> index_;
  std::optional<Time> deadline_;  // at or before the earliest due
  std::size_t next_victim_ = 0;
};

}  // namespace weft::recovery
