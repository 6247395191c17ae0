#include "tests/property/counter_watch.h"

#include <fmt/format.h>

namespace weft::test {

using recovery::Event;

void CounterWatch::see(const Sighting& seen) {
  OfSide& side = sides_[sim::index(seen.side)];
  if (!side.runs) return;
  if (seen.weft && seen.place == sim::Place::kIntoWan) {
    ++side.weft_packets[static_cast<std::size_t>(seen.weft->type)];
    (seen.weft->type == wire::PacketType::kRepair ? side.repair_bytes : side.control_bytes) += seen.ip_bytes;
  }
  const auto& view = seen.roce ? seen.roce : seen.damaged;
  if (!view || !view->complete()) return;
  const auto tag = tag_of(config_, *view);
  if (!tag) return;
  switch (seen.place) {
    case sim::Place::kFromHost:
      ++side.from_lan[tag->class_id];
      break;
    case sim::Place::kOutOfWan:
      ++side.from_wan;
      break;
    case sim::Place::kToHost:
      ++side.to_lan;
      break;
    case sim::Place::kIntoWan:
      break;
  }
}

void CounterWatch::expect(const char* what, std::uint64_t counted, std::uint64_t seen,
                          std::uint64_t tolerance) {
  if (counted > seen + tolerance || seen > counted + tolerance)
    complaints_.add("P8", fmt::format("{}: {} counted, {} seen", what, counted, seen));
}

void CounterWatch::judge(sim::Side which, const recovery::Engine& engine) {
  const OfSide& side = sides_[sim::index(which)];
  const auto peer = engine.status().front();
  const recovery::Counters& counters = *peer.counters;
  const auto total = [&](Event event) { return counters.total(event); };

  for (recovery::ClassId c = 0; c < recovery::kMaxClasses; ++c)
    expect("source packets of a class sent", counters.get(Event::kSourceSent, c), side.from_lan[c], 0);

  const auto weft = [&](wire::PacketType type) { return side.weft_packets[static_cast<std::size_t>(type)]; };
  using wire::PacketType;
  expect("hellos", total(Event::kHelloSent), weft(PacketType::kHello), 0);
  expect("feedback", total(Event::kFeedbackSent), weft(PacketType::kFeedback), 0);
  expect("announcements", total(Event::kAnnouncementSent), weft(PacketType::kAnnouncement), 0);
  expect("manifests", total(Event::kManifestSent) + total(Event::kManifestResent),
         weft(PacketType::kManifest), 0);
  expect("repairs", total(Event::kRepairSent) + total(Event::kRepairResent), weft(PacketType::kRepair), 0);
  expect("ACK copies", total(Event::kAckCopySent), weft(PacketType::kAckCopy), 0);
  expect("repair bytes", total(Event::kRepairSentBytes), side.repair_bytes, 0);
  expect("control bytes", total(Event::kControlSentBytes), side.control_bytes, 0);

  // A flow that was refused passes uncounted but for the refusal, and announcements are refused as well.
  const std::uint64_t refused = total(Event::kFlowRefused);
  expect("source packets received", total(Event::kSourceReceived) + total(Event::kPassedNoPeer),
         side.from_wan, tolerance_ + refused + engine.stray_counters().total(Event::kPassedNotOurs));

  // What was allocated for in vain was for one of the three kinds of made packets.
  const std::uint64_t no_frame = total(Event::kRecoveryNoFrame);
  const std::uint64_t made = total(Event::kRecovered) - total(Event::kRecoveredOldEpoch) -
                             total(Event::kRecoveredTooLate) + total(Event::kFilled) +
                             total(Event::kAckCopyDelivered);
  const std::uint64_t dropped =
      total(Event::kSourceBadIcrc) + total(Event::kDuplicateDropped) + total(Event::kStaleDropped);
  expect("packets to the hosts", side.from_wan + made, side.to_lan + dropped + peer.held_frames,
         tolerance_ + no_frame);
  if (total(Event::kFillReported) + total(Event::kFillCancelled) > total(Event::kFilled))
    complaints_.add("P8", "more fills were reported or cancelled than there were");
}

}  // namespace weft::test
