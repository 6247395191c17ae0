// Files small enough to be read and written whole.
#pragma once

#include <string>
#include <string_view>

#include "agent/base/result.h"

namespace weft {

// Every byte of it; an empty file is no error.
Result<std::string> read_text_file(const std::string& path);

// Replaces the file; "-" is standard output.
Status write_text_file(const std::string& path, std::string_view text);

}  // namespace weft
