#include "agent/base/units.h"

#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <span>

#include <fmt/format.h>

namespace weft {
namespace {

struct Unit {
  std::string_view suffix;
  double factor;
};

// Splits "1.5gbit" into 1.5 and the factor of "gbit". `kind` and `example` are for the message.
Result<double> parse_quantity(std::string_view text, std::span<const Unit> units, std::string_view kind,
                              std::string_view example) {
  const std::string owned(text);
  char* end = nullptr;
  const double number = std::strtod(owned.c_str(), &end);
  const bool starts_with_digit = !owned.empty() && std::isdigit(static_cast<unsigned char>(owned[0])) != 0;
  if (starts_with_digit && std::isfinite(number)) {
    const std::string_view suffix(end);
    for (const Unit& unit : units) {
      if (suffix == unit.suffix) return number * unit.factor;
    }
  }
  return fail(fmt::format("'{}' is not a {}", text, kind), {}, fmt::format("write it like {}", example));
}

constexpr std::array kRateUnits{Unit{"bit", 1}, Unit{"kbit", 1e3}, Unit{"mbit", 1e6}, Unit{"gbit", 1e9}};
constexpr std::array kTimeUnits{Unit{"ns", 1}, Unit{"us", 1e3}, Unit{"ms", 1e6}, Unit{"s", 1e9},
                                Unit{"m", 60e9}};
constexpr std::array kByteUnits{
    Unit{"", 1},          Unit{"b", 1},           Unit{"k", 1024.0},       Unit{"kib", 1024.0},
    Unit{"m", 1048576.0}, Unit{"mib", 1048576.0}, Unit{"g", 1073741824.0}, Unit{"gib", 1073741824.0}};

// 2^62: products stay exact enough and fit a signed 64-bit count of any base unit.
constexpr double kLargest = 4.6e18;

}  // namespace

Result<std::uint64_t> parse_rate(std::string_view text) {
  return parse_quantity(text, kRateUnits, "rate", "200mbit or 100gbit")
      .and_then([&](double bits) -> Result<std::uint64_t> {
        if (bits < 1 || bits > kLargest)
          return fail(fmt::format("rate '{}' is out of range", text), {}, "at least 1bit");
        return static_cast<std::uint64_t>(std::llround(bits));
      });
}

Result<Nanoseconds> parse_duration(std::string_view text) {
  if (text == "0") return Nanoseconds{0};
  return parse_quantity(text, kTimeUnits, "duration", "30ms, 1.5s or 250us")
      .and_then([&](double ns) -> Result<Nanoseconds> {
        if (ns > kLargest) return fail(fmt::format("duration '{}' is out of range", text));
        return Nanoseconds{std::llround(ns)};
      });
}

Result<std::uint64_t> parse_bytes(std::string_view text) {
  return parse_quantity(text, kByteUnits, "byte count", "65536, 64k or 4mib")
      .and_then([&](double bytes) -> Result<std::uint64_t> {
        if (bytes > kLargest) return fail(fmt::format("byte count '{}' is out of range", text));
        return static_cast<std::uint64_t>(std::llround(bytes));
      });
}

std::string format_duration(Nanoseconds duration) {
  if (duration == Nanoseconds{0}) return "0";
  const auto nanoseconds = static_cast<double>(duration.count());
  const auto units = std::span(kTimeUnits).first(4);
  for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {
    const double scaled = nanoseconds / unit->factor;
    if (scaled >= 1 && scaled * 1000 == std::floor(scaled * 1000))
      return fmt::format("{}{}", scaled, unit->suffix);
  }
  return fmt::format("{}{}", nanoseconds, units.front().suffix);
}

}  // namespace weft
