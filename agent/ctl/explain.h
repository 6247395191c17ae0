// weftctl explain: which code a policy's class gets on a path, what it costs and what it leaves undelivered, by the
// very function the agent chooses with.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "agent/ctl/subcommand.h"
#include "agent/recovery/adaptation.h"
#include "agent/recovery/policy.h"

namespace weft::ctl {

// {"k","r","interleave","overhead","residual","added_delay_ms","assumptions":[...]}; k and r are 0 where the class is
// not coded. path.rtt is known, the stream's rate above 0.
nlohmann::json explain(const recovery::PolicyTable& policy, recovery::Tag tag,
                       const recovery::PathState& path, const recovery::StreamState& stream);

void add_explain(CLI::App& app, Action& chosen);

}  // namespace weft::ctl
