// weftctl genkey: a new key for a pair of agents.
#pragma once

#include "agent/ctl/subcommand.h"

namespace weft::ctl {

void add_genkey(CLI::App& app, Action& chosen);

}  // namespace weft::ctl
