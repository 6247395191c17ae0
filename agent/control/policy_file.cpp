#include "agent/control/policy_file.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "agent/base/text_file.h"
#include "agent/base/units.h"
#include "agent/fec/code.h"
#include "agent/recovery/block_group.h"

namespace weft::control {
namespace {

using recovery::ClassPolicy;
using recovery::Fallback;
using recovery::kLevels;
using recovery::LevelPolicy;
using recovery::PolicyTable;
using recovery::Tag;

constexpr std::string_view kNotInThisVersion = "not in this version";

// Promised by the design, and refused rather than ignored until they exist.
constexpr std::array<std::string_view, 4> kLaterKeys = {"deadline", "deliver_fraction", "early_close",
                                                        "tolerance"};

// A fraction of a level: a number, or "none" where that means something.
bool read_fraction(TomlReader& reader, std::string_view key, const toml::node& value, bool may_be_none,
                   std::optional<double>& out) {
  if (may_be_none && value.value_exact<std::string_view>() == "none") {
    out.reset();
    return true;
  }
  const auto number = value.is_number() ? value.value<double>() : std::nullopt;
  if (!number || !(*number >= 0 && *number <= 1)) {  // nan is neither
    reader.fail_at(
        value, fmt::format("'{}' must be a number from 0 to 1{}", key, may_be_none ? " or \"none\"" : ""));
    return false;
  }
  out = *number;
  return true;
}

// One value for all levels, or an array of one for each.
template <class Set>
void read_levels(TomlReader& reader, std::string_view key, ClassPolicy& policy, bool may_be_none, Set set) {
  const toml::node* value = reader.node(key);
  if (value == nullptr) return;
  const toml::array* array = value->as_array();
  if (array != nullptr && array->size() != kLevels) {
    reader.fail_at(
        *value, fmt::format("'{}' has {} values", key, array->size()),
        fmt::format("one number for all levels, or {} of them, for levels 0 to {}", kLevels, kLevels - 1));
    return;
  }
  for (std::size_t level = 0; level < kLevels; ++level) {
    std::optional<double> fraction;
    if (!read_fraction(reader, key, array != nullptr ? *array->get(level) : *value, may_be_none, fraction))
      return;
    set(policy.levels[level], fraction);
  }
}

void read_after(TomlReader& reader, ClassPolicy& policy) {
  const toml::node* value = reader.node("after");
  if (value == nullptr) return;
  const std::string hint = R"(after = ["fill", "release"] or ["release"])";
  const toml::array* array = value->as_array();
  if (array == nullptr) {
    reader.fail_at(*value, "'after' must be a list of what to try when FEC has failed", hint);
    return;
  }
  std::vector<Fallback> after;
  for (const toml::node& element : *array) {
    const auto word = element.value_exact<std::string_view>();
    if (word == "fill") {
      after.push_back(Fallback::kFill);
    } else if (word == "release") {
      after.push_back(Fallback::kRelease);
    } else if (word == "retransmit") {
      reader.fail_at(element, fmt::format("'retransmit': {}", kNotInThisVersion), hint);
    } else {
      reader.fail_at(element, R"('after' knows "fill" and "release")", hint);
    }
  }
  const bool repeated = std::ranges::adjacent_find(after) != after.end();
  if (after.empty() || after.back() != Fallback::kRelease || after.size() > 2 || repeated) {
    reader.fail_at(*value, "'after' must end with \"release\" and name nothing twice", hint);
  }
  policy.after = std::move(after);
}

void read_fixed_code(TomlReader& reader, ClassPolicy& policy) {
  const bool any =
      reader.node("k") != nullptr || reader.node("r") != nullptr || reader.node("interleave") != nullptr;
  if (!any) return;
  if (reader.node("k") == nullptr || reader.node("r") == nullptr) {
    reader.fail_here("a fixed code needs both 'k' and 'r'", "k = 32, r = 4");
    return;
  }
  std::uint64_t k = 0;
  std::uint64_t r = 0;
  std::uint64_t interleave = 1;
  reader.integer("k", k, 1, fec::kMaxColumns);
  reader.integer("r", r, 1, fec::kMaxRows);
  reader.integer("interleave", interleave, 1, recovery::kMaxInterleave);
  policy.fixed = recovery::FixedCode{static_cast<std::uint16_t>(k), static_cast<std::uint16_t>(r),
                                     static_cast<std::uint16_t>(interleave)};
}

void read_class(TomlReader& reader, ClassPolicy& policy) {
  for (const std::string_view key : kLaterKeys) {
    if (const toml::node* value = reader.node(key))
      reader.fail_at(*value, fmt::format("'{}': {}", key, kNotInThisVersion));
  }
  read_levels(reader, "target_residual", policy, true,
              [](LevelPolicy& level, std::optional<double> value) { level.target_residual = value; });
  read_levels(reader, "uncoded_below_loss", policy, false,
              [](LevelPolicy& level, std::optional<double> value) { level.uncoded_below_loss = *value; });
  read_levels(reader, "fill_budget", policy, false,
              [](LevelPolicy& level, std::optional<double> value) { level.fill_budget = *value; });
  read_levels(reader, "max_fill_per_message", policy, false,
              [](LevelPolicy& level, std::optional<double> value) { level.max_fill_per_message = *value; });
  read_after(reader, policy);
  read_fixed_code(reader, policy);
  const auto budgeted = [](const LevelPolicy& level) { return level.fill_budget > 0; };
  if (policy.name == "exact" && std::ranges::any_of(policy.levels, budgeted)) {
    reader.fail_here("'exact' cannot have a fill budget: it is what a packet in doubt gets",
                     "define a class of another name");
  }
}

void read_classes(TomlReader& root, const std::string& path, PolicyTable& table) {
  const toml::table* classes = root.table("class");
  if (classes == nullptr) return;
  for (const auto& [name, node] : *classes) {
    const toml::table* rows = node.as_table();
    if (rows == nullptr) {
      root.fail_at(node, fmt::format("'class.{}' must be a table", name.str()),
                   fmt::format("[class.{}]", name.str()));
      return;
    }
    TomlReader reader(*rows, path);
    std::optional<recovery::ClassId> id = table.find(name.str());
    if (!id && table.classes.size() == recovery::kMaxClasses) {
      root.fail_at(node, fmt::format("more than {} classes", recovery::kMaxClasses));
      return;
    }
    if (!id) {
      id = static_cast<recovery::ClassId>(table.classes.size());
      table.classes.emplace_back().name = name.str();
    }
    read_class(reader, table.classes[*id]);
    root.adopt(reader.finish());
  }
}

Result<recovery::CodeKind> parse_code(std::string_view text) {
  if (text == "rs") return recovery::CodeKind::kReedSolomon;
  if (text == "xor") return recovery::CodeKind::kXor;
  return fail(fmt::format("unknown code '{}'", text), {}, R"("rs" or "xor")");
}

Result<std::uint32_t> parse_message_bytes(std::string_view text) {
  const auto bytes = parse_bytes(text);
  if (!bytes) return fail(bytes.error());
  if (*bytes > UINT32_MAX) return fail("no message is that long", {}, "at most 4294967295");
  return static_cast<std::uint32_t>(*bytes);
}

void read_fec(TomlReader& root, const std::string& path, PolicyTable& table) {
  const toml::table* rows = root.table("fec");
  if (rows == nullptr) return;
  TomlReader reader(*rows, path);
  // Up to as many repairs as source packets; what a heavier code would need is another network.
  reader.fraction("max_overhead", table.fec.max_overhead);
  reader.text("code", parse_code, table.fec.code);
  reader.boolean("ack_guard", table.fec.ack_guard);
  reader.text("min_fill_message", parse_message_bytes, table.min_fill_message_bytes);
  root.adopt(reader.finish());
}

// "dp-high", "pp:5".
Result<Tag> parse_tag(std::string_view text, const PolicyTable& table) {
  const std::size_t colon = text.find(':');
  const auto id = table.find(text.substr(0, colon));
  if (!id) {
    std::vector<std::string_view> names;
    names.reserve(table.classes.size());
    for (const ClassPolicy& policy : table.classes) {
      names.push_back(policy.name);
    }
    return fail(fmt::format("no class '{}'", text.substr(0, colon)), {},
                fmt::format("classes: {}; or \"none\"", fmt::join(names, ", ")));
  }
  Tag tag{.class_id = *id};
  if (colon == std::string_view::npos) return tag;
  const std::string_view level = text.substr(colon + 1);
  if (level.size() != 1 || level[0] < '0' || level[0] >= '0' + static_cast<int>(kLevels)) {
    return fail(fmt::format("'{}' is no level", level), {}, fmt::format("0 to {}", kLevels - 1));
  }
  tag.level = static_cast<std::uint8_t>(level[0] - '0');
  return tag;
}

void read_tags(TomlReader& root, const std::string& path, TrafficPolicy& policy) {
  const toml::table* tags = root.table("tags");
  if (tags == nullptr) return;
  TomlReader reader(*tags, path);
  const toml::table* dscp_tags = reader.table("dscp");
  root.adopt(reader.finish());
  if (dscp_tags == nullptr) return;
  policy.dscp.fill(std::nullopt);
  TomlReader rows(*dscp_tags, path);
  for (const auto& [key, node] : *dscp_tags) {
    const std::string_view text = key.str();
    unsigned dscp = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), dscp);
    if (error != std::errc() || end != text.data() + text.size() || dscp >= kDscpValues) {
      rows.fail_at(node, fmt::format("'{}' is no DSCP", text), fmt::format("0 to {}", kDscpValues - 1));
      break;
    }
    rows.text(
        text,
        [&](std::string_view written) -> Result<std::optional<Tag>> {
          if (written == "none") return std::nullopt;
          const auto tag = parse_tag(written, policy.classes);
          if (!tag) return fail(tag.error());
          return *tag;
        },
        policy.dscp[dscp]);
  }
  root.adopt(rows.finish());
}

Result<EndpointRecovery> parse_recovery(std::string_view text) {
  if (text == "gbn") return EndpointRecovery::kGoBackN;
  if (text == "sr") return EndpointRecovery::kSelectiveRepeat;
  return fail(fmt::format("unknown recovery '{}'", text), {}, R"("gbn" or "sr")");
}

}  // namespace

DscpTags default_dscp_tags(const PolicyTable& policy) {
  DscpTags tags;
  constexpr unsigned kDpHighDscp = 10;
  constexpr unsigned kFirstStageDscp = 18;
  constexpr unsigned kUsualRoceDscp = 26;
  tags[kDpHighDscp] = Tag{.class_id = policy.find("dp-high").value_or(recovery::kClassExact)};
  tags[kFirstStageDscp] = Tag{.class_id = policy.find("pp").value_or(recovery::kClassExact)};
  tags[kUsualRoceDscp] = Tag{.class_id = recovery::kClassExact};
  return tags;
}

void read_traffic_policy(TomlReader& root, const std::string& path, TrafficPolicy& policy) {
  read_classes(root, path, policy.classes);
  read_fec(root, path, policy.classes);
  read_tags(root, path, policy);
}

Result<PolicyFile> parse_policy_file(std::string_view text, const std::string& path) {
  const auto table = parse_toml(text, path);
  if (!table) return fail(table.error());
  PolicyFile file;
  TomlReader root(*table, path);
  read_traffic_policy(root, path, file.traffic);
  root.boolean("agents", file.agents);
  if (const toml::table* rows = root.table("endpoint")) {
    TomlReader reader(*rows, path);
    reader.text("recovery", parse_recovery, file.endpoint);
    root.adopt(reader.finish());
  }
  if (Status read = root.finish(); !read) return fail(read.error());
  return file;
}

Result<PolicyFile> load_policy_file(const std::string& path) {
  const auto text = read_text_file(path);
  if (!text) return fail(text.error());
  return parse_policy_file(*text, path);
}

}  // namespace weft::control
