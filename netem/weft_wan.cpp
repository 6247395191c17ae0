// weft-wan: emulates a WAN between two interfaces by a profile. Prints {"ready":true} when it forwards, and
// statistics when it ends. This file is the command line and the report; the work is in forwarder.h.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "agent/base/exit_code.h"
#include "agent/base/stop_signal.h"
#include "agent/base/text_file.h"
#include "agent/base/units.h"
#include "agent/base/version.h"
#include "agent/wire/format.h"
#include "netem/forwarder.h"
#include "netem/profile_file.h"

namespace weft::netem {
namespace {

using nlohmann::ordered_json;

struct Arguments {
  std::string interface_a;
  std::string interface_b;
  std::string profile;
  std::string rate;
  std::string delay;
  std::string loss;
  double burst = 0;
  std::string queue;
  std::optional<std::uint64_t> seed;
  std::string loss_log;
  std::string stats = "-";
  std::string duration = "0";
  std::uint16_t weft_port = wire::kDefaultUdpPort;
};

void define_options(CLI::App& app, Arguments& arguments) {
  app.set_version_flag("--version", std::string(kVersion));
  app.add_option("--a", arguments.interface_a, "one side; a to b is the forward direction")->required();
  app.add_option("--b", arguments.interface_b, "the other side")->required();
  app.add_option("--profile", arguments.profile, "WAN profile, e.g. netem/profiles/clean.toml")->required();
  app.add_option("--rate", arguments.rate, "instead of the profile's, both directions: 200mbit");
  app.add_option("--delay", arguments.delay, "the same, one way: 15ms");
  app.add_option("--loss", arguments.loss, "the same: 1e-3, or two fractions a>b,b>a: 1e-3,0");
  app.add_option("--burst", arguments.burst, "the same: mean run of lost packets, 1 = independent losses");
  app.add_option("--queue", arguments.queue, "the same: bytes (64k) or multiple of rate x RTT (2bdp)");
  app.add_option("--seed", arguments.seed, "instead of the profile's");
  app.add_option("--loss-log", arguments.loss_log, "JSON Lines, one per packet lost");
  app.add_option("--stats", arguments.stats, "where statistics go at the end; - is stdout")
      ->capture_default_str();
  app.add_option("--duration", arguments.duration, "end by itself after this time, e.g. 10s; 0 = never")
      ->capture_default_str();
  app.add_option("--weft-port", arguments.weft_port, "UDP port of Weft packets")->capture_default_str();
}

// "1e-3" is both directions, "1e-3,0" forward and reverse.
Result<std::array<std::optional<double>, 2>> parse_loss(const std::string& text) {
  std::array<std::optional<double>, 2> loss;
  if (text.empty()) return loss;
  const std::size_t comma = text.find(',');
  const std::string parts[] = {text.substr(0, comma),
                               comma == std::string::npos ? text : text.substr(comma + 1)};
  for (std::size_t i = 0; i < loss.size(); ++i) {
    char* end = nullptr;
    loss[i] = std::strtod(parts[i].c_str(), &end);
    if (parts[i].empty() || *end != '\0')
      return fail(fmt::format("'{}' is not a loss", text), "--loss", "1e-3 or 1e-3,0");
  }
  return loss;
}

Result<ProfileOverrides> overrides_of(const Arguments& arguments) {
  ProfileOverrides overrides;
  const auto loss = parse_loss(arguments.loss);
  if (!loss) return fail(loss.error());
  overrides.loss = *loss;
  if (arguments.burst != 0) overrides.mean_burst_packets = arguments.burst;
  overrides.seed = arguments.seed;
  const auto parse = [](const std::string& text, auto parser, auto& out) -> Status {
    if (text.empty()) return {};
    auto value = parser(text);
    if (!value) return fail(value.error());
    out = *value;
    return {};
  };
  const Status parsed =
      parse(arguments.rate, parse_rate, overrides.rate_bits_per_second)
          .and_then([&] { return parse(arguments.delay, parse_duration, overrides.delay); })
          .and_then([&] { return parse(arguments.queue, QueueSize::parse, overrides.queue); });
  if (!parsed) return fail(parsed.error());
  return overrides;
}

ordered_json report(const DirectionCounters& counters) {
  const KindCounters total = counters.total();
  ordered_json kinds;
  for (const PacketKind kind : kAllPacketKinds) {
    const KindCounters& c = counters.kinds[static_cast<std::size_t>(kind)];
    kinds[std::string(name_of(kind))] = {{"packets", c.packets},
                                         {"bytes", c.ip_bytes},
                                         {"lost", c.lost_packets},
                                         {"tail_drops", c.tail_dropped_packets}};
  }
  const auto number_or_null = [](std::optional<double> value) {
    return value ? ordered_json(*value) : nullptr;
  };
  return {{"packets", total.packets},
          {"bytes", total.ip_bytes},
          {"lost", total.lost_packets},
          {"tail_drops", total.tail_dropped_packets},
          {"ecn_marks", counters.ce_marked_packets},
          {"duplicates", counters.duplicated_packets},
          {"corrupted", counters.corrupted_packets},
          {"reordered", counters.reordered_packets},
          {"loss_runs", counters.loss_runs},
          {"realised",
           {{"loss", number_or_null(counters.realised_loss())},
            {"burst", number_or_null(counters.realised_burst())}}},
          {"kinds", kinds}};
}

ordered_json report(Forwarder& forwarder, std::uint64_t seed) {
  const EmulatorDrops drops = forwarder.drops();
  const auto late_us = [&](double share) {
    return forwarder.lateness().percentile(share).value_or(Nanoseconds{0}).count() / 1000;
  };
  return {{"schema", "weft-wan/1"},
          {"version", kVersion},
          {"seed", seed},
          {"start_ns", forwarder.started().count()},
          {"elapsed_ns", forwarder.elapsed().count()},
          {"emulator_drops", drops.total()},
          {"emulator_drops_by_cause",
           {{"receive", drops.receive},
            {"transmit", drops.transmit},
            {"too_long", drops.too_long},
            {"no_memory", drops.no_memory}}},
          {"realtime", forwarder.realtime()},
          {"late_us", {{"p50", late_us(0.5)}, {"p99", late_us(0.99)}, {"max", late_us(1)}}},
          {"forward", report(forwarder.counters(Direction::kForward))},
          {"reverse", report(forwarder.counters(Direction::kReverse))}};
}

ExitCode complain(const Error& error, ExitCode code) { return weft::complain("weft-wan", error, code); }

int emulate(const Arguments& arguments) {
  if (arguments.interface_a == arguments.interface_b) {
    return complain({.code = 0,
                     .what = "--a and --b are the same interface",
                     .where = arguments.interface_a,
                     .hint = "what is sent there would come back for ever"},
                    kExitUsage);
  }
  const auto overrides = overrides_of(arguments);
  if (!overrides) return complain(overrides.error(), kExitUsage);
  const auto profile = load_profile(arguments.profile, *overrides);
  if (!profile) return complain(profile.error(), kExitUsage);
  const auto duration = parse_duration(arguments.duration);
  if (!duration) return complain(duration.error(), kExitUsage);

  std::optional<LossLog> loss_log;
  if (!arguments.loss_log.empty()) {
    auto created = LossLog::create(arguments.loss_log);
    if (!created) return complain(created.error(), kExitFailed);
    loss_log.emplace(std::move(*created));
  }
  auto a = PacketSocket::open(arguments.interface_a);
  if (!a) return complain(a.error(), kExitMachine);
  auto b = PacketSocket::open(arguments.interface_b);
  if (!b) return complain(b.error(), kExitMachine);

  const std::atomic<bool>& stop = stop_on_signals();
  Forwarder forwarder(std::move(*a), std::move(*b), *profile, {arguments.weft_port, *duration},
                      loss_log ? &*loss_log : nullptr);
  std::cout << R"({"ready":true})" << std::endl;
  Status done = forwarder.run(stop);
  const ordered_json statistics = report(forwarder, profile->seed);
  done = done.and_then([&] { return write_text_file(arguments.stats, statistics.dump() + "\n"); });
  if (loss_log) done = done.and_then([&] { return loss_log->finish(); });
  if (!done) return complain(done.error(), kExitFailed);
  if (statistics["emulator_drops"] != 0) {
    Error error;
    error.what = "the emulator itself lost packets: " + statistics["emulator_drops_by_cause"].dump();
    error.hint =
        "measurements of this run are void; is the machine overloaded, or segmentation offload on "
        "(ethtool -K IFACE tso off gso off)?";
    return complain(error, kExitFailed);
  }
  return kExitOk;
}

}  // namespace
}  // namespace weft::netem

int main(int argc, char** argv) try {
  CLI::App app(
      "Emulates a WAN between two interfaces: rate, delay, queue, loss and other impairments, seeded.",
      "weft-wan");
  weft::netem::Arguments arguments;
  weft::netem::define_options(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? weft::kExitOk : weft::kExitUsage;
  }
  return weft::netem::emulate(arguments);
} catch (const std::exception& error) {
  std::cerr << "weft-wan: " << error.what() << '\n';
  return weft::kExitFailed;
}
