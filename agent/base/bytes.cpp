#include "agent/base/bytes.h"

#include <charconv>

#include <fmt/format.h>

namespace weft {

std::string to_hex(ByteView bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

Result<Bytes> from_hex(std::string_view digits) {
  if (digits.size() % 2 != 0) return fail("odd number of hex digits");
  Bytes bytes(digits.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char* first = digits.data() + 2 * i;
    const auto [end, error] = std::from_chars(first, first + 2, bytes[i], 16);
    if (error != std::errc{} || end != first + 2) {
      return fail(fmt::format("'{}' is not a pair of hex digits", std::string_view(first, 2)));
    }
  }
  return bytes;
}

}  // namespace weft
