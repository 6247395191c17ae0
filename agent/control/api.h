// The local API: how weftctl talks to weftd. A UNIX stream socket; one request and one answer per connection, each one
// line of JSON.
//
//   {"command": "status"}                    {"ok": true, "result": {...}}
//   {"command": "mode", "mode": "bypass"}    {"ok": false, "error": {"what", "where", "hint"}}
//
// Commands: status (what weftd --stats writes, and the mode), flows (agent/daemon/flow_report.h), reload, mode (until
// the next reload). The socket belongs to the user the agent runs as, mode 0600, and the agent asks the kernel who is
// calling: root and that user are answered.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "agent/base/result.h"

namespace weft::control {

// Requests and answers are short; anything longer is not from weftctl.
inline constexpr std::size_t kMaxRequestBytes = 4096;

// Asks the agent whose socket this is and returns "result", or its error. Waits a few seconds for an answer.
Result<nlohmann::json> call_agent(const std::string& socket_path, const nlohmann::json& request);

nlohmann::json success(nlohmann::json result);
nlohmann::json failure(const Error& error);

}  // namespace weft::control
