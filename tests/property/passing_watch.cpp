#include "tests/property/passing_watch.h"

#include <algorithm>

#include <fmt/format.h>

namespace weft::test {
namespace {

double ms(recovery::Time time) { return std::chrono::duration<double, std::milli>(time).count(); }

}  // namespace

void PassingWatch::see(const Sighting& seen) {
  if (!seen.roce) return;
  if (seen.stranger || !tag_of(config_, *seen.roce)) return see_untouched(seen);
  auto& waiting = waiting_[sim::index(seen.side)];
  const PacketName name{seen.roce->flow_key(), seen.roce->psn().value};
  if (seen.place == sim::Place::kOutOfWan) {
    waiting.try_emplace(name, seen.at);
  } else if (seen.place == sim::Place::kToHost) {
    const auto found = waiting.find(name);
    if (found == waiting.end()) return;
    const recovery::Time held = seen.at - found->second;
    longest_ = std::max(longest_, held);
    if (held > kLongestHold) {
      complaints_.add(
          "P6", fmt::format("{} to QP {:#x} PSN {} came at {:.1f} ms and was held for {:.1f} ms",
                            seen.roce->op().name, name.flow.dest_qpn, name.psn, ms(found->second), ms(held)));
    }
    waiting.erase(found);
  }
}

void PassingWatch::see_untouched(const Sighting& seen) {
  using sim::Place;
  const bool from_lan = seen.place == Place::kFromHost || seen.place == Place::kIntoWan;
  auto& queue = passing_[sim::index(seen.side)][from_lan ? 0 : 1];
  if (seen.place == Place::kFromHost || seen.place == Place::kOutOfWan) {
    queue.emplace_back(seen.frame.begin(), seen.frame.end());
    return;
  }
  ++untouched_;
  if (queue.empty() || !std::ranges::equal(queue.front(), seen.frame))
    complaints_.add("P2", "a packet that is not ours was changed, moved or made up");
  if (!queue.empty()) queue.pop_front();
}

void PassingWatch::finish(recovery::Time now) {
  for (auto& waiting : waiting_) {
    for (const auto& [name, since] : waiting) {
      if (now - since > kLongestHold)
        complaints_.add("P6", fmt::format("PSN {} of QP {:#x} came {:.1f} ms ago and never left", name.psn,
                                          name.flow.dest_qpn, ms(now - since)));
    }
  }
  for (auto& side : passing_) {
    for (auto& queue : side) {
      if (!queue.empty())
        complaints_.add("P2", fmt::format("{} packets that are not ours vanished", queue.size()));
    }
  }
}

}  // namespace weft::test
