// weftctl decode FILE [--json]: what the packets of a capture are.
#pragma once

#include "agent/ctl/subcommand.h"

namespace weft::ctl {

void add_decode(CLI::App& app, Action& chosen);

}  // namespace weft::ctl
