// weftctl doctor: what this machine has and lacks for the agent, before it is started.
#pragma once

#include "agent/ctl/subcommand.h"

namespace weft::ctl {

void add_doctor(CLI::App& app, Action& chosen);

}  // namespace weft::ctl
