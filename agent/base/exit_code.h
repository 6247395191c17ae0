// What every program's exit status means, and how it says why.
#pragma once

#include <string_view>

#include "agent/base/result.h"

namespace weft {

enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,   // the work failed
  kExitUsage = 2,    // wrong usage or config
  kExitMachine = 3,  // the machine lacks something; the message names it
};

// "PROGRAM: ERROR" on stderr; returns the code, for main() to end with.
ExitCode complain(std::string_view program, const Error& error, ExitCode code);

}  // namespace weft
