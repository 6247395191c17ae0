// Ordinals count a stream's packets modulo 2^32.
#pragma once

#include <cstdint>

namespace weft::recovery {

// Packets from `from` to `to`: negative when `to` is older.
constexpr std::int32_t ordinal_distance(std::uint32_t from, std::uint32_t to) {
  return static_cast<std::int32_t>(to - from);
}

}  // namespace weft::recovery
