// What a stream has sent that no repair will list, and the messages the peer may have to rebuild headers for,
// collected until it is worth a packet. Ordinals of the runs follow each other, so a packet whose ordinal does
// not continue them (repairs listed those in between) needs the log to be taken first.
#pragma once

#include <cstdint>
#include <utility>

#include "agent/roce/psn.h"
#include "agent/wire/messages.h"

namespace weft::recovery {

class ManifestLog {
 public:
  explicit ManifestLog(wire::StreamId stream) {
    manifest_.stream = stream;
    manifest_.runs.reserve(kMaxRuns);
    manifest_.descriptors.reserve(kMaxDescriptors);
  }

  bool empty() const { return manifest_.runs.empty() && manifest_.descriptors.empty(); }
  // Room for one more packet, whose ordinal continues the runs.
  bool fits(std::uint32_t ordinal) const {
    return manifest_.runs.empty() || (manifest_.runs.size() < kMaxRuns && ordinal == next_ordinal_);
  }
  bool descriptors_full() const { return manifest_.descriptors.size() == kMaxDescriptors; }

  // Only while fits().
  void add_packet(std::uint32_t ordinal, wire::FlowId flow, roce::Psn psn) {
    if (manifest_.runs.empty()) manifest_.first_ordinal = ordinal;
    next_ordinal_ = ordinal + 1;
    if (!manifest_.runs.empty()) {
      wire::Manifest::Run& last = manifest_.runs.back();
      if (last.flow == flow && last.first_psn + last.packets == psn && last.packets < UINT16_MAX) {
        ++last.packets;
        return;
      }
    }
    manifest_.runs.push_back({.flow = flow, .first_psn = psn, .packets = 1});
  }
  // Only while not descriptors_full().
  void add_descriptor(const wire::MessageDescriptor& descriptor) {
    // A message that starts and ends within one manifest needs one descriptor.
    for (wire::MessageDescriptor& earlier : manifest_.descriptors) {
      if (earlier.flow == descriptor.flow && earlier.first_psn == descriptor.first_psn) {
        earlier = descriptor;
        return;
      }
    }
    manifest_.descriptors.push_back(descriptor);
  }

  const wire::Manifest& manifest() const { return manifest_; }
  bool has_runs() const { return !manifest_.runs.empty(); }
  // One past the last ordinal of the runs. Only while has_runs().
  std::uint32_t end_ordinal() const { return next_ordinal_; }
  // Moves the contents to `out`, whose own are lost; memory changes hands and is used again.
  void take(wire::Manifest& out) {
    std::swap(manifest_, out);
    manifest_.stream = out.stream;
    clear();
  }
  void clear() {
    manifest_.runs.clear();
    manifest_.descriptors.clear();
  }

 private:
  // 48 runs of 7 bytes and 12 descriptors of about 35 stay below the 1280 bytes any IPv6 path carries.
  static constexpr std::size_t kMaxRuns = 48;
  static constexpr std::size_t kMaxDescriptors = 12;

  wire::Manifest manifest_;
  std::uint32_t next_ordinal_ = 0;
};

}  // namespace weft::recovery
