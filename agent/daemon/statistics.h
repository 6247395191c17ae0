// Everything the data path counted, as JSON: {"xdp": [{"port", "cause", "class", "packets", "bytes"}], "queues":
// [{"port", "queue", ..., "kernel": {...}}], "peers": [peer_json], "stalls", "flows_shed", "flows_learned":
// {"learned", "refused", "forgotten"}, "strays": {EVENT: {CLASS: count}} (frames of no peer)}. Only causes and events
// that happened are listed. An agent that writes a fill log adds "fills_not_logged".
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "agent/daemon/flow_learner.h"
#include "agent/daemon/repair.h"
#include "agent/dataplane/datapath.h"
#include "agent/recovery/policy.h"

namespace weft::daemon {

// What recovery counted of one peer: {"name", "ready", "rtt_ms" (null while unknown), "agreed" (null before its first
// hello: {"wan_mtu_bytes", "peer_wan_mtu_bytes", "same_classes", "peer_decodes"}), "shortcomings": [{"what", "hint"}],
// "recovery_ms": {"samples", "p50", "p99"}, "flows": {...}, "frames": {...}, "measured_loss": {...} (of what we send, as
// the peer reports it), "strengths": [{"class", "level", "k", "r", "interleave", "overhead"}] (of what is coded
// adaptively now), "events": {EVENT: {CLASS: count}}}.
nlohmann::json peer_json(const RepairProcessor::PeerReport& peer, const recovery::PolicyTable& policy);

// What the control thread counts.
struct ControlCounts {
  std::uint64_t flows_shed = 0;
  FlowLearner::Counts flows_learned;
};

Result<nlohmann::json> statistics_json(dataplane::Datapath& datapath, const RepairProcessor::Report& repair,
                                       const recovery::PolicyTable& policy, const ControlCounts& control);

}  // namespace weft::daemon
