// The subcommands that ask the running agent through its socket: status, flows, reload, mode.
#pragma once

#include "agent/ctl/subcommand.h"

namespace weft::ctl {

void add_status(CLI::App& app, Action& chosen);
void add_flows(CLI::App& app, Action& chosen);
void add_reload(CLI::App& app, Action& chosen);
void add_mode(CLI::App& app, Action& chosen);

}  // namespace weft::ctl
