// Where a stream stands in a table of all streams a peer may have.
#pragma once

#include <cstddef>

#include "agent/wire/messages.h"

namespace weft::recovery {

inline constexpr std::size_t kStreamSlots = wire::kMaxPaths * wire::kMaxClasses * wire::kLevels;

constexpr std::size_t slot_of(wire::StreamId stream) {
  return (stream.path * wire::kMaxClasses + stream.class_id) * wire::kLevels + stream.level;
}

constexpr wire::StreamId stream_at(std::size_t slot) {
  return {.class_id = static_cast<std::uint8_t>(slot / wire::kLevels % wire::kMaxClasses),
          .level = static_cast<std::uint8_t>(slot % wire::kLevels),
          .path = static_cast<std::uint8_t>(slot / wire::kLevels / wire::kMaxClasses)};
}

}  // namespace weft::recovery
