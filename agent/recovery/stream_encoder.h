// One stream (class and level of a peer, lane and VLAN stack) on its way to the WAN: numbers its packets and decides when
// a group opens and closes.
//
//   on_packet ─▶ ordinal ─┬─▶ open group ──close──▶ RepairPacer
//                         └─▶ ManifestSender (uncoded packets, message descriptors)
//
// A group closes when it is full; when nothing follows the end of a message; when nothing follows at all for
// longer than the stream's own spacing explains, or it has been open for its longest span; and when its list
// cannot name the next packet or that packet belongs to another VLAN stack.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "agent/recovery/coding_planner.h"
#include "agent/recovery/manifest_sender.h"
#include "agent/recovery/packet_rate.h"
#include "agent/recovery/repair_pacer.h"
#include "agent/recovery/tx_flow_table.h"

namespace weft::recovery {

// A source packet that has just been forwarded. Everything referenced lives for the call.
struct SourcePacket {
  const roce::PacketView& view;
  const PathHeaders& path;
  TxFlow& flow;
};

class StreamEncoder {
 public:
  // What all streams of an encoder share; outlives them.
  struct Links {
    WeftSender& sender;
    Counters& counters;
    BlockGroupPool& pool;
    CodingPlanner& planner;
    const PathEstimate& estimate;
  };
  StreamEncoder(wire::StreamId stream, const Links& links);
  ~StreamEncoder();
  StreamEncoder(const StreamEncoder&) = delete;
  StreamEncoder& operator=(const StreamEncoder&) = delete;

  void on_packet(const SourcePacket& packet, Time now);
  // The receiver knows of everything before `ordinal`.
  void on_covered(std::uint32_t ordinal);
  void tick(Time now);
  // When tick() has something to do; nullopt: not before the next packet.
  std::optional<Time> next_deadline() const;
  // The peer is gone or has forgotten everything: what is open, queued or repeated is dropped. Ordinals go on.
  void reset();

  wire::StreamId stream() const { return stream_; }
  std::uint32_t next_ordinal() const { return next_ordinal_; }

 private:
  bool code(const SourcePacket& packet, Time now);
  bool add_to_group(const SourcePacket& packet, const fec::SourceSymbol& symbol, Time now);
  bool open_group(const SourcePacket& packet, Time now);
  void close_group(Event reason, Time now);
  void describe_message(const SourcePacket& packet, Time now);
  Time quiet_deadline() const;

  const wire::StreamId stream_;
  Links links_;
  RepairPacer pacer_;
  ManifestSender manifests_;
  std::unique_ptr<BlockGroup> open_;

  std::uint32_t next_ordinal_;
  bool quiet_pending_ = false;   // packets have come since tick() last saw the stream quiet
  bool at_message_end_ = false;  // the newest packet ended its message
  Time last_packet_at_{};
  Time spacing_{};  // smoothed time between packets
  PacketRate rate_;
};

}  // namespace weft::recovery
