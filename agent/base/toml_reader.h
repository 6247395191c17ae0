// Reads one table of a TOML file the way an operator wants it read: every message names file and line and
// says what to write instead, and a key nobody asked for is an error, not silence.
//
//   TomlReader reader(table, "wan.toml");
//   reader.text("rate", parse_rate, profile.rate);       // absent: profile.rate stays as it is
//   reader.fraction("reorder", profile.reorder);
//   if (Status read = reader.finish(); !read) return read;
//
// The first error is kept and the rest of the reads do nothing useful but harm nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <toml++/toml.h>

#include "agent/base/result.h"

namespace weft {

// The whole file; a syntax error names its line. `path` is for messages.
Result<toml::table> parse_toml(std::string_view text, const std::string& path);

class TomlReader {
 public:
  // The table must outlive the reader.
  TomlReader(const toml::table& table, std::string path) : table_(table), path_(std::move(path)) {}

  // A string that `parse` turns into a Result<T>. A value written without quotes is an error.
  template <class T, class Parse>
  void text(std::string_view key, Parse parse, T& out) {
    const toml::node* value = node(key);
    if (value == nullptr) return;
    const std::optional<std::string_view> written = value->value_exact<std::string_view>();
    if (!written) {
      fail_at(*value, "'" + std::string(key) + "' must be a string", "put it in double quotes");
      return;
    }
    auto parsed = parse(*written);
    if (parsed) {
      out = *parsed;
    } else {
      fail_at(*value, std::string(key) + ": " + parsed.error().what, parsed.error().hint);
    }
  }

  void text(std::string_view key, std::string& out);
  void boolean(std::string_view key, bool& out);
  void integer(std::string_view key, std::uint64_t& out, std::uint64_t least, std::uint64_t most);
  void number(std::string_view key, double& out, double least, double most);
  // A probability, 0 to 1.
  void fraction(std::string_view key, double& out) { number(key, out, 0, 1); }

  // A sub-table, or every table of an array of tables; nullptr or empty when absent.
  const toml::table* table(std::string_view key);
  std::vector<const toml::table*> tables(std::string_view key);
  // Whatever stands there, for keys that may be several types; nullptr when absent.
  const toml::node* node(std::string_view key);

  // Records an error at a node (or at this table) unless there is one already.
  void fail_at(const toml::node& where, std::string what, std::string hint = {});
  void fail_here(std::string what, std::string hint = {}) {
    fail_at(table_, std::move(what), std::move(hint));
  }
  void adopt(Status status);

  // The first error, if any yet.
  Status so_far() const { return error_ ? Status(fail(*error_)) : Status(); }
  // The first error; else an unknown key; else success.
  Status finish() const;

 private:
  std::string place(const toml::node& node) const;

  const toml::table& table_;
  std::string path_;
  std::set<std::string, std::less<>> asked_;
  std::optional<Error> error_;
};

}  // namespace weft
