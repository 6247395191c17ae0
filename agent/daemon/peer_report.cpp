#include "agent/daemon/peer_report.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "agent/daemon/log.h"

namespace weft::daemon {

std::vector<Error> shortcomings(const recovery::PeerTerms& terms) {
  std::vector<Error> all;
  const auto add = [&](std::string what, std::string hint) {
    all.push_back({.code = 0, .what = std::move(what), .where = {}, .hint = std::move(hint)});
  };
  if (!terms.same_classes) {
    add("its classes are not ours: nothing from it is filled, all of it is treated as 'exact'",
        "the names of [class.*] must be the same on both sides; 'weftctl check' prints them");
  }
  if (!terms.peer_decodes) {
    add("it cannot decode the code of [fec]: nothing that goes to it is coded",
        "bring it to this version, or choose another [fec] code");
  }
  if (terms.peer_wan_mtu_bytes != terms.own_wan_mtu_bytes) {
    add(fmt::format("its WAN MTU is {}, ours {}: {} is used", terms.peer_wan_mtu_bytes,
                    terms.own_wan_mtu_bytes, terms.wan_mtu_bytes),
        "port.wan.mtu is what the whole path carries, the same on both sides");
  }
  return all;
}

void PeerLog::tell(std::span<const recovery::PeerChange> changes) {
  for (const recovery::PeerChange& change : changes) {
    if (change.event == wire::PeerEvent::kDown) {
      spdlog::warn("peer {} is silent: its traffic passes unprotected", change.peer);
      continue;
    }
    if (change.event == wire::PeerEvent::kRestarted) {
      spdlog::info("peer {} has started anew", change.peer);
      continue;
    }
    spdlog::info("peer {}: protected, WAN MTU {}", change.peer, change.terms.wan_mtu_bytes);
    const auto told = told_.find(change.peer);
    if (told != told_.end() && told->second == change.terms) continue;
    told_[change.peer] = change.terms;
    for (Error shortcoming : shortcomings(change.terms)) {
      shortcoming.where = "peer " + change.peer;
      log_warning(shortcoming);
    }
  }
}

}  // namespace weft::daemon
