// SIGTERM and SIGINT as a flag, for programs that end when they next look.
#pragma once

#include <atomic>

namespace weft {

// From now on these signals set the flag and do nothing else. It lives as long as the program.
const std::atomic<bool>& stop_on_signals();

}  // namespace weft
