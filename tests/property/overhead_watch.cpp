#include "tests/property/overhead_watch.h"

#include <fmt/format.h>

namespace weft::test {

void OverheadWatch::see(const Sighting& seen) {
  constexpr double kControlShare = 0.01;
  constexpr double kControlBytesPerSecond = 4000;
  // Of sums that are rounded in another order.
  constexpr double kRoundingBytes = 1;
  OfSide& side = sides_[sim::index(seen.side)];
  side.control.earn(kControlBytesPerSecond * std::chrono::duration<double>(seen.at - side.earned_at).count());
  side.earned_at = seen.at;
  const auto& source = seen.roce ? seen.roce : seen.damaged;
  const bool earns = source && !seen.stranger && tag_of(config_, *source);
  const auto bytes = static_cast<double>(seen.ip_bytes);
  if (seen.place == sim::Place::kOutOfWan && earns) side.control.earn(kControlShare * bytes);
  if (seen.place != sim::Place::kIntoWan) return;
  if (earns) side.overhead.earn(max_overhead_ * bytes);
  if (!seen.weft) return;
  using wire::PacketType;
  const bool repairs = seen.weft->type == PacketType::kRepair || seen.weft->type == PacketType::kManifest ||
                       seen.weft->type == PacketType::kAnnouncement;
  Bucket& bucket = repairs ? side.overhead : side.control;
  bucket.tokens -= bytes;
  if (bucket.tokens < -kRoundingBytes)
    complaints_.add("P9", fmt::format("{} bytes more {} than may be", -bucket.tokens,
                                      repairs ? "repairs and manifests" : "control"));
}

}  // namespace weft::test
