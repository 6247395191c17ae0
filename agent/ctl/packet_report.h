// What `weftctl decode` says about one packet: as a JSON object and as a line for people.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "agent/ctl/capture_file.h"
#include "agent/ctl/weft_report.h"
#include "agent/roce/view.h"

namespace weft::ctl {

// The RoCE packet in a captured one, whatever its link header.
tl::expected<roce::PacketView, roce::Reject> parse_roce(const CapturedPacket& packet);

// {"n", "t_ns", "kind", ...}: kind is roce, weft, other or malformed, the latter two with a reason. Packets are to be
// shown in their order: that is how `authenticator` learns boot ids.
nlohmann::ordered_json json_report(const CapturedPacket& packet, WeftAuthenticator& authenticator);

// "3 10:01:02.123456 10.0.0.1 > 10.0.0.2 RC_ACKNOWLEDGE qpn 0x11 psn 7 ... icrc ok", without a line end.
std::string text_report(const CapturedPacket& packet, WeftAuthenticator& authenticator);

}  // namespace weft::ctl
