// What every program's exit status means.
#pragma once

namespace weft {

enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,   // the work failed
  kExitUsage = 2,    // wrong usage or config
  kExitMachine = 3,  // the machine lacks something; the message names it
};

}  // namespace weft
