// The answer to the API's `flows`.
#pragma once

#include <cstddef>

#include <nlohmann/json_fwd.hpp>

#include "agent/recovery/flow_list.h"
#include "agent/recovery/policy.h"

namespace weft::daemon {

// More would be a long line for a socket, and nobody reads them.
inline constexpr std::size_t kMostListedFlows = 1000;

// {"total", "flows": [{"peer", "direction" ("sending", "receiving"), "src", "dst", "qpn", "vlans", "response",
// "announced", "arriving", "class", "level", "id" (null when receiving), "epoch", "held_frames", "paired"}]}, the
// newest first; fewer than "total" when there are more than kMostListedFlows. Class and level are null while a received
// flow is not announced, and of a peer whose classes are not ours.
nlohmann::json flows_json(recovery::NewestFlows& flows, const recovery::PolicyTable& policy);

}  // namespace weft::daemon
