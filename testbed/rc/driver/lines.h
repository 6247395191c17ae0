// JSON Lines, line by line.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "agent/base/result.h"

namespace weft::rc {

// Calls take(line, place) for every line that is not empty, until one returns an error. `place` is "WHERE:3", for
// messages.
template <class Take>
Status for_each_line(std::string_view text, std::string_view where, Take&& take) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.empty()) continue;
    if (Status taken = take(line, fmt::format("{}:{}", where, number)); !taken) return taken;
  }
  return {};
}

}  // namespace weft::rc
