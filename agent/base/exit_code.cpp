#include "agent/base/exit_code.h"

#include <cstdio>

#include <fmt/format.h>

namespace weft {

ExitCode complain(std::string_view program, const Error& error, ExitCode code) {
  std::fflush(stdout);  // what was said before comes before
  fmt::print(stderr, "{}: {}\n", program, error.to_string());
  return code;
}

}  // namespace weft
