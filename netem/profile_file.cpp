#include "netem/profile_file.h"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include <fmt/format.h>

#include "agent/base/text_file.h"
#include "agent/base/toml_reader.h"

namespace weft::netem {
namespace {

// A link and what can only be resolved when both directions are known.
struct Draft {
  LinkProfile link;
  QueueSize queue;
};

Result<std::shared_ptr<const std::vector<bool>>> load_trace(const std::string& path) {
  const Result<std::string> text = read_text_file(path);
  if (!text) return fail(text.error());
  std::vector<bool> lost;
  std::size_t line = 1;
  for (const char c : *text) {
    if (c == '0' || c == '1') {
      lost.push_back(c == '1');
    } else if (c == '\n') {
      ++line;
    } else if (c != ' ' && c != '\r') {
      return fail(fmt::format("'{}' in a loss trace", c), fmt::format("{}:{}", path, line),
                  "write 0 for a delivered and 1 for a lost packet, in order");
    }
  }
  if (lost.empty()) return fail("the loss trace is empty", path, "write 0s and 1s, one per packet");
  return std::make_shared<const std::vector<bool>>(std::move(lost));
}

Status read_loss_table(const toml::table& table, const std::string& path, LossProfile& loss) {
  TomlReader reader(table, path);
  std::string model;
  reader.text("model", model);
  if (model == "trace") {
    std::string file;
    reader.text("file", file);
    if (Status read = reader.finish(); !read) return read;
    // Relative to the profile, so that the two can be moved together.
    auto trace = load_trace((std::filesystem::path(path).parent_path() / file).string());
    if (!trace) return fail(trace.error());
    loss = LossProfile{};
    loss.model = LossProfile::Model::kTrace;
    loss.trace = *trace;
    return {};
  }
  double probability = 0;
  double burst = 1;
  reader.fraction("p", probability);
  if (model == "gilbert-elliott") {
    reader.number("burst", burst, 1, std::numeric_limits<double>::max());
  } else if (model != "iid") {
    reader.fail_here(fmt::format("unknown loss model '{}'", model), "iid, gilbert-elliott or trace");
  }
  if (Status read = reader.finish(); !read) return read;
  loss = LossProfile{};
  Status set = set_loss(loss, probability, burst);
  if (!set) reader.fail_here(set.error().what, set.error().hint);
  return reader.finish();
}

void read_loss(TomlReader& reader, const std::string& path, LossProfile& loss) {
  const toml::node* value = reader.node("loss");
  if (value == nullptr) return;
  if (const toml::table* table = value->as_table()) {
    reader.adopt(read_loss_table(*table, path, loss));
    return;
  }
  double probability = 0;
  reader.fraction("loss", probability);
  if (Status set = set_loss(loss, probability, loss.mean_burst_packets); !set)
    reader.fail_at(*value, set.error().what, set.error().hint);
}

void read_link(TomlReader& reader, const std::string& path, Draft& draft) {
  LinkProfile& link = draft.link;
  reader.text("rate", parse_rate, link.rate_bits_per_second);
  reader.text("delay", parse_duration, link.delay);
  reader.text("jitter", parse_duration, link.jitter);
  reader.text("queue", QueueSize::parse, draft.queue);
  read_loss(reader, path, link.loss);
  reader.fraction("reorder", link.reorder);
  reader.text("reorder_delay", parse_duration, link.reorder_delay);
  reader.fraction("duplicate", link.duplicate);
  reader.fraction("corrupt", link.corrupt);
  reader.boolean("bleach", link.bleach);
  reader.text("ecn_threshold", parse_bytes, link.ecn_threshold_bytes);
  if (link.jitter > link.delay)
    reader.fail_here("jitter is larger than delay", "a packet cannot arrive before it was sent");
}

Status override_link(Draft& draft, const ProfileOverrides& overrides, std::optional<double> loss) {
  LinkProfile& link = draft.link;
  if (overrides.rate_bits_per_second) link.rate_bits_per_second = *overrides.rate_bits_per_second;
  if (overrides.delay) link.delay = *overrides.delay;
  if (link.jitter > link.delay) return fail("--delay is below the profile's jitter", {}, "raise --delay");
  if (overrides.queue) draft.queue = *overrides.queue;
  if (!loss && !overrides.mean_burst_packets) return {};
  return set_loss(link.loss, loss.value_or(link.loss.probability),
                  overrides.mean_burst_packets.value_or(link.loss.mean_burst_packets));
}

// Builds a WanProfile front to back: base, overrides, steps.
class ProfileBuilder {
 public:
  explicit ProfileBuilder(std::string path) : path_(std::move(path)) {}

  // Lays the keys of a table over the present links of these directions. `other_keys` are read elsewhere.
  Status lay_over(const toml::table& table, const std::vector<Direction>& directions,
                  std::initializer_list<std::string_view> other_keys = {}) {
    for (const Direction direction : directions) {
      TomlReader reader(table, path_);
      for (const std::string_view key : other_keys)
        reader.node(key);
      read_link(reader, path_, draft(direction));
      if (Status read = reader.finish(); !read) return read;
    }
    return {};
  }

  Status override_base(const ProfileOverrides& overrides) {
    for (const Direction direction : kDirections) {
      const auto loss = overrides.loss[static_cast<std::size_t>(direction)];
      if (Status set = override_link(draft(direction), overrides, loss); !set) return set;
    }
    return {};
  }

  // `step` as it stands in the file, with its own keys `at` and `direction`.
  Status add_step(const toml::table& step) {
    TomlReader reader(step, path_);
    Nanoseconds at{0};
    std::vector<Direction> directions{kDirections.begin(), kDirections.end()};
    reader.text("at", parse_duration, at);
    reader.text("direction", parse_directions, directions);
    if (at <= last_step_) reader.fail_here("steps must have rising times after 0", "at = \"10s\"");
    if (Status read = reader.so_far(); !read) return read;
    if (Status laid = lay_over(step, directions, {"at", "direction"}); !laid) return laid;
    last_step_ = at;
    schedule_from(at, directions);
    return {};
  }

  // The present links hold from `at` on.
  void schedule_from(Nanoseconds at, const std::vector<Direction>& directions) {
    const Nanoseconds rtt = drafts_[0].link.delay + drafts_[1].link.delay;
    for (const Direction direction : directions) {
      LinkProfile link = draft(direction).link;
      link.queue_bytes = draft(direction).queue.resolve(link.rate_bits_per_second, rtt);
      schedules_[static_cast<std::size_t>(direction)].push_back({at, link});
    }
  }

  std::array<LinkSchedule, 2> take_schedules() { return std::move(schedules_); }

 private:
  static Result<std::vector<Direction>> parse_directions(std::string_view text) {
    if (text == "both") return std::vector{Direction::kForward, Direction::kReverse};
    if (text == "forward") return std::vector{Direction::kForward};
    if (text == "reverse") return std::vector{Direction::kReverse};
    return fail(fmt::format("unknown direction '{}'", text), {}, "forward, reverse or both");
  }
  Draft& draft(Direction direction) { return drafts_[static_cast<std::size_t>(direction)]; }

  std::string path_;
  std::array<Draft, 2> drafts_;
  std::array<LinkSchedule, 2> schedules_;
  Nanoseconds last_step_{0};
};

}  // namespace

Result<QueueSize> QueueSize::parse(std::string_view text) {
  constexpr std::string_view kSuffix = "bdp";
  if (!text.ends_with(kSuffix)) {
    return parse_bytes(text).map(
        [](std::uint64_t count) { return QueueSize{.bdp_multiple = 0, .bytes = count}; });
  }
  const std::string number(text.substr(0, text.size() - kSuffix.size()));
  char* end = nullptr;
  const double multiple = std::strtod(number.c_str(), &end);
  if (number.empty() || *end != '\0' || !(multiple > 0) || multiple > 1000) {
    return fail(fmt::format("'{}' is not a queue size", text), {}, "write it like 2bdp or 64k");
  }
  return QueueSize{.bdp_multiple = multiple, .bytes = {}};
}

std::uint64_t QueueSize::resolve(std::uint64_t rate_bits_per_second, Nanoseconds rtt) const {
  if (bytes) return *bytes;
  const double seconds = std::chrono::duration<double>(rtt).count();
  return static_cast<std::uint64_t>(
      std::llround(static_cast<double>(rate_bits_per_second) / 8 * seconds * bdp_multiple));
}

Status set_loss(LossProfile& loss, double probability, double mean_burst_packets) {
  if (!(probability >= 0 && probability <= 1))
    return fail("a loss is a fraction from 0 to 1", {}, "1e-3, for one packet in a thousand");
  if (!(mean_burst_packets >= 1))
    return fail("a mean burst is at least 1 packet", {}, "1 means independent losses");
  const bool bursty = mean_burst_packets > 1;
  if (bursty && probability > mean_burst_packets / (mean_burst_packets + 1)) {
    return fail(fmt::format("bursts of {} cannot make up a loss of {}", mean_burst_packets, probability), {},
                "a good packet must be possible between two bursts: p <= burst / (burst + 1)");
  }
  loss = LossProfile{};
  loss.model = bursty ? LossProfile::Model::kGilbertElliott : LossProfile::Model::kIid;
  loss.probability = probability;
  loss.mean_burst_packets = mean_burst_packets;
  return {};
}

Result<WanProfile> parse_profile(std::string_view toml, const std::string& path,
                                 const ProfileOverrides& overrides) {
  const Result<toml::table> file = parse_toml(toml, path);
  if (!file) return fail(file.error());
  TomlReader root(*file, path);
  ProfileBuilder builder(path);
  WanProfile profile;
  root.integer("seed", profile.seed, 0, std::numeric_limits<std::int64_t>::max());
  const std::vector<Direction> both{kDirections.begin(), kDirections.end()};
  if (const auto* table = root.table("both")) root.adopt(builder.lay_over(*table, both));
  if (const auto* table = root.table("forward")) root.adopt(builder.lay_over(*table, {Direction::kForward}));
  if (const auto* table = root.table("reverse")) root.adopt(builder.lay_over(*table, {Direction::kReverse}));
  root.adopt(builder.override_base(overrides));
  builder.schedule_from(Nanoseconds{0}, both);
  for (const toml::table* step : root.tables("step"))
    root.adopt(builder.add_step(*step));
  if (Status read = root.finish(); !read) return fail(read.error());
  profile.schedules = builder.take_schedules();
  if (overrides.seed) profile.seed = *overrides.seed;
  return profile;
}

Result<WanProfile> load_profile(const std::string& path, const ProfileOverrides& overrides) {
  return read_text_file(path).and_then(
      [&](const std::string& text) { return parse_profile(text, path, overrides); });
}

}  // namespace weft::netem
