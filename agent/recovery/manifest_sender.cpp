#include "agent/recovery/manifest_sender.h"

#include <chrono>

#include "agent/recovery/ordinal.h"

namespace weft::recovery {
namespace {

using std::chrono::milliseconds;

// Long enough that a busy stream's manifests cost next to nothing, well below what a gap may be held.
constexpr Time kCollect = milliseconds(4);
// A gap at the start of a message can be filled only once its descriptor is there.
constexpr Time kCollectDescriptor = milliseconds(1);

}  // namespace

void ManifestSender::add_packet(std::uint32_t ordinal, wire::FlowId flow, roce::Psn psn,
                                const PathHeaders& path, Time now) {
  if (!log_.fits(ordinal)) flush(now);
  log_.add_packet(ordinal, flow, psn);
  path_ = path;
  wake_at(now + kCollect);
}

void ManifestSender::add_descriptor(const wire::MessageDescriptor& descriptor, const PathHeaders& path,
                                    Time now) {
  if (log_.descriptors_full()) flush(now);
  log_.add_descriptor(descriptor);
  path_ = path;
  wake_at(now + kCollectDescriptor);
}

void ManifestSender::flush_tail(Time spacing, Time now) {
  if (log_.empty()) return;
  if (log_.has_runs())
    tail_end_ = log_.end_ordinal();
  else
    tail_end_.reset();
  send(log_.manifest(), Event::kManifestSent, now);
  log_.take(tail_);
  due_.reset();
  tail_schedule_.start(now, links_.estimate.beyond_a_burst(spacing));
}

void ManifestSender::flush(Time now) {
  due_.reset();
  if (log_.empty()) return;
  send(log_.manifest(), Event::kManifestSent, now);
  log_.clear();
}

void ManifestSender::tick(Time now) {
  if (due_ && *due_ <= now) flush(now);
  if (!tail_schedule_.take_due(now, links_.estimate.answer_time())) return;
  send(tail_, Event::kManifestResent, now);
  if (!tail_end_) tail_schedule_.stop();
}

void ManifestSender::on_covered(std::uint32_t ordinal) {
  if (tail_end_ && ordinal_distance(*tail_end_, ordinal) >= 0) tail_schedule_.stop();
}

std::optional<Time> ManifestSender::next_deadline() const {
  if (!due_) return tail_schedule_.due();
  const std::optional<Time> tail = tail_schedule_.due();
  return tail && *tail < *due_ ? tail : due_;
}

void ManifestSender::clear() {
  log_.clear();
  due_.reset();
  tail_schedule_.stop();
}

void ManifestSender::wake_at(Time at) {
  if (!due_ || at < *due_) due_ = at;
}

void ManifestSender::send(const wire::Manifest& manifest, Event counted_as, Time now) {
  const SendResult result = links_.sender.send(wire::PacketType::kManifest, manifest.stream.class_id, path_,
                                               wire::body_bytes(manifest), now,
                                               [&](MutableByteView body) { wire::encode(manifest, body); });
  if (result == SendResult::kSent) links_.counters.add(counted_as, manifest.stream.class_id);
}

}  // namespace weft::recovery
