// Configuration and policy files of any bytes: read or refused with a place and a reason, nothing else.
#include "agent/control/config.h"

#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = weft::control::parse_config(text, "fuzz");
  if (!config && config.error().what.empty()) std::abort();
  const auto policy = weft::control::parse_policy_file(text, "fuzz");
  if (!policy && policy.error().where.empty()) std::abort();
  return 0;
}
