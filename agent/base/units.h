// Quantities as people write them: rates, durations, byte counts. Every program and file parses them here, so
// a suffix means the same everywhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "agent/base/result.h"

namespace weft {

using Nanoseconds = std::chrono::nanoseconds;

// "200mbit", "100gbit", "1.5gbit", "64kbit", "1000000bit": bits per second at IP level. Zero is an error.
Result<std::uint64_t> parse_rate(std::string_view text);

// "67ms", "1.5s", "30us", "250ns", "2m". A bare number is an error: it has no unit. "0" alone is accepted.
Result<Nanoseconds> parse_duration(std::string_view text);

// "65536", "64k", "64kib", "4m", "4mib", "1g": bytes; suffixes are powers of 1024.
Result<std::uint64_t> parse_bytes(std::string_view text);

// The shortest form parse_duration reads back to the same value.
std::string format_duration(Nanoseconds duration);

}  // namespace weft
