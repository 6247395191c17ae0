// Tells the peer what one stream sent uncoded and which messages may have to be rebuilt: collects for a few
// milliseconds, sends, and repeats the manifest of a message's end until feedback covers it.
#pragma once

#include <cstdint>
#include <optional>

#include "agent/recovery/manifest_log.h"
#include "agent/recovery/path_estimate.h"
#include "agent/recovery/tail_schedule.h"
#include "agent/recovery/weft_sender.h"

namespace weft::recovery {

class ManifestSender {
 public:
  // All outlive it.
  struct Links {
    WeftSender& sender;
    Counters& counters;
    const PathEstimate& estimate;
  };
  ManifestSender(wire::StreamId stream, const Links& links) : links_(links), log_(stream) {}

  // `path` is the packet's, and where the manifest will go.
  void add_packet(std::uint32_t ordinal, wire::FlowId flow, roce::Psn psn, const PathHeaders& path, Time now);
  // A message that starts, or with its end.
  void add_descriptor(const wire::MessageDescriptor& descriptor, const PathHeaders& path, Time now);

  // Nothing has followed the end of a message: what is collected goes now, and again.
  void flush_tail(Time spacing, Time now);
  bool empty() const { return log_.empty(); }

  void on_covered(std::uint32_t ordinal);
  void tick(Time now);
  std::optional<Time> next_deadline() const;
  void clear();

 private:
  void flush(Time now);
  void wake_at(Time at);
  void send(const wire::Manifest& manifest, Event counted_as, Time now);

  Links links_;
  ManifestLog log_;
  PathHeaders path_;
  std::optional<Time> due_;

  wire::Manifest tail_;
  // One past its last ordinal; nullopt where it has descriptors only, which no feedback covers.
  std::optional<std::uint32_t> tail_end_;
  TailSchedule tail_schedule_;
};

}  // namespace weft::recovery
