// Logging of the programs that run as services: spdlog to stderr, one line a message, with the priority prefix
// systemd reads (sd-daemon(3)) unless stderr is a terminal.
//
// Levels by meaning: critical, it cannot go on; error, something asked for did not happen; warn, it goes on but
// somebody should look; info, what an operator wants in the journal; debug, what a developer wants.
#pragma once

#include "agent/base/result.h"

namespace weft::daemon {

void set_up_log(bool debug);

// An Error at its natural length: what and where on one line, the hint on the next.
void log_error(const Error& error);
void log_warning(const Error& error);

}  // namespace weft::daemon
