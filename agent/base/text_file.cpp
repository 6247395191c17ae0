#include "agent/base/text_file.h"

#include <fstream>
#include <iostream>
#include <sstream>

namespace weft {

Result<std::string> read_text_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  // Copying nothing counts as a failure of the stream; of an empty file it is none.
  if (file && file.peek() == std::ifstream::traits_type::eof() && !file.bad()) return std::string();
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return fail_errno("cannot read", path, "does the file exist?");
  return text.str();
}

Status write_text_file(const std::string& path, std::string_view text) {
  if (path == "-") {
    if (std::cout << text << std::flush) return {};
    return fail_errno("cannot write", "standard output");
  }
  std::ofstream file(path, std::ios::binary);
  if (file << text << std::flush) return {};
  return fail_errno("cannot write", path);
}

}  // namespace weft
