#include "agent/base/toml_reader.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace weft {
namespace {

// Letters to insert, remove or replace to make one word of the other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row.back();
}

// The known word a mistyped one was probably meant to be; nullptr when none is near.
const std::string* nearest_word(std::string_view typed, const std::set<std::string, std::less<>>& known) {
  const std::string* nearest = nullptr;
  std::size_t least = std::min<std::size_t>(typed.size() / 2, 3) + 1;
  for (const std::string& word : known) {
    const std::size_t distance = edit_distance(typed, word);
    if (distance >= least) continue;
    least = distance;
    nearest = &word;
  }
  return nearest;
}

}  // namespace

Result<toml::table> parse_toml(std::string_view text, const std::string& path) {
  try {
    return toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    return fail(std::string(error.description()), fmt::format("{}:{}", path, error.source().begin.line),
                "the file is not TOML; see toml.io for its grammar");
  }
}

void TomlReader::text(std::string_view key, std::string& out) {
  text(
      key, [](std::string_view written) -> Result<std::string> { return std::string(written); }, out);
}

void TomlReader::boolean(std::string_view key, bool& out) {
  const toml::node* value = node(key);
  if (value == nullptr) return;
  if (const auto written = value->value_exact<bool>()) {
    out = *written;
  } else {
    fail_at(*value, fmt::format("'{}' must be true or false", key));
  }
}

void TomlReader::integer(std::string_view key, std::uint64_t& out, std::uint64_t least, std::uint64_t most) {
  const toml::node* value = node(key);
  if (value == nullptr) return;
  const auto written = value->value_exact<std::int64_t>();
  if (written && *written >= 0 && std::uint64_t(*written) >= least && std::uint64_t(*written) <= most) {
    out = static_cast<std::uint64_t>(*written);
  } else {
    fail_at(*value, fmt::format("'{}' must be a whole number from {} to {}", key, least, most));
  }
}

void TomlReader::number(std::string_view key, double& out, double least, double most) {
  const toml::node* value = node(key);
  if (value == nullptr) return;
  // value_exact would refuse `1` where `1.0` is meant.
  const auto written = value->is_number() ? value->value<double>() : std::nullopt;
  if (written && *written >= least && *written <= most) {
    out = *written;
  } else {
    fail_at(*value, fmt::format("'{}' must be a number from {} to {}", key, least, most));
  }
}

const toml::table* TomlReader::table(std::string_view key) {
  const toml::node* value = node(key);
  if (value == nullptr) return nullptr;
  if (value->as_table() == nullptr)
    fail_at(*value, fmt::format("'{}' must be a table", key), fmt::format("[{}]", key));
  return value->as_table();
}

std::vector<const toml::table*> TomlReader::tables(std::string_view key) {
  std::vector<const toml::table*> found;
  const toml::node* value = node(key);
  if (value == nullptr) return found;
  if (!value->is_array_of_tables()) {
    fail_at(*value, fmt::format("'{}' must be an array of tables", key), fmt::format("[[{}]]", key));
    return found;
  }
  for (const toml::node& element : *value->as_array())
    found.push_back(element.as_table());
  return found;
}

const toml::node* TomlReader::node(std::string_view key) {
  asked_.emplace(key);
  return table_.get(key);
}

void TomlReader::fail_at(const toml::node& where, std::string what, std::string hint) {
  if (!error_) error_ = Error{.what = std::move(what), .where = place(where), .hint = std::move(hint)};
}

void TomlReader::adopt(Status status) {
  if (!status && !error_) error_ = std::move(status.error());
}

Status TomlReader::finish() const {
  if (error_) return fail(*error_);
  for (const auto& [key, value] : table_) {
    if (asked_.contains(key.str())) continue;
    const std::string* nearest = nearest_word(key.str(), asked_);
    return fail(fmt::format("unknown key '{}'", key.str()), place(value),
                fmt::format("{}known here: {}", nearest == nullptr ? "" : "did you mean '" + *nearest + "'? ",
                            fmt::join(asked_, ", ")));
  }
  return {};
}

std::string TomlReader::place(const toml::node& node) const {
  return fmt::format("{}:{}", path_, node.source().begin.line);
}

}  // namespace weft
