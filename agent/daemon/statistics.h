// Everything the data path counted, as JSON: {"xdp": [{"port", "cause", "class", "packets", "bytes"}], "queues":
// [{"port", "queue", ..., "kernel": {...}}], "stalls", "flows_shed"}. Only causes that happened are listed.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "agent/dataplane/datapath.h"
#include "agent/recovery/policy.h"

namespace weft::daemon {

Result<nlohmann::json> statistics_json(dataplane::Datapath& datapath, const recovery::PolicyTable& policy,
                                       std::uint64_t flows_shed);

Status write_file(const std::string& path, const std::string& text);

}  // namespace weft::daemon
