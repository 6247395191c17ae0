// agent/ctl: the subcommands of weftctl. Each is a file here with one function that adds it to the command line;
// agent/weftctl.cpp lists them and runs the one that was chosen.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "agent/base/exit_code.h"

namespace weft::ctl {

// What the chosen subcommand does once the whole command line has been read; returns the exit status. A
// subcommand's callback sets it.
using Action = std::function<int()>;

inline ExitCode complain(const Error& error, ExitCode code) { return weft::complain("weftctl", error, code); }

}  // namespace weft::ctl
