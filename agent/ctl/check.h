// weftctl check: is this configuration good, before an agent is asked to use it.
#pragma once

#include "agent/ctl/subcommand.h"

namespace weft::ctl {

void add_check(CLI::App& app, Action& chosen);

}  // namespace weft::ctl
