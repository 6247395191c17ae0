// The version every program prints for --version; set once, in the top CMakeLists.txt.
#pragma once

#include <string_view>

namespace weft {

inline constexpr std::string_view kVersion = WEFT_VERSION;

}  // namespace weft
