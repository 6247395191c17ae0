// Fields that several bodies share, and how a decoder says no. Internal to agent/wire.
#pragma once

#include <cstdint>
#include <string>

#include "agent/base/result.h"
#include "agent/wire/cursor.h"
#include "agent/wire/messages.h"

namespace weft::wire {

inline constexpr std::size_t kStreamBytes = 1;

// Class in the upper four bits, level in the lower three; bit 3 is reserved.
inline std::uint8_t pack_stream(StreamId stream) {
  return static_cast<std::uint8_t>(stream.class_id << 4 | stream.level);
}
inline bool stream_is_valid(std::uint8_t packed) { return (packed & 0x08) == 0; }
inline StreamId unpack_stream(std::uint8_t packed) {
  return {.class_id = static_cast<std::uint8_t>(packed >> 4), .level = static_cast<std::uint8_t>(packed & 7)};
}

inline tl::unexpected<Error> truncated(std::string body) {
  return fail("the bytes end before the fields do", std::move(body));
}
inline tl::unexpected<Error> trailing(std::string body) {
  return fail("bytes follow the last field", std::move(body));
}
inline tl::unexpected<Error> reserved(std::string body) {
  return fail("a reserved bit is set", std::move(body));
}

}  // namespace weft::wire
