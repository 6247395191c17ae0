// Copying bytes that are const: std::ranges::copy goes one by one for those in libstdc++ 12, a thousand of them in as many
// cycles.
#pragma once

#include <algorithm>

#include "agent/base/bytes.h"

namespace weft {

// There is room behind `to`. Returns one past the last byte written.
inline std::uint8_t* copy_bytes(ByteView from, std::uint8_t* to) {
  return std::copy(from.begin(), from.end(), to);
}

}  // namespace weft
