#include "agent/ctl/explain.h"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "agent/base/units.h"
#include "agent/control/config.h"
#include "agent/control/policy_file.h"
#include "agent/recovery/hold_bound.h"
#include "agent/roce/headers.h"

namespace weft::ctl {
namespace {

using nlohmann::json;
using recovery::PathState;
using recovery::StreamState;

double milliseconds_of(Nanoseconds duration) { return static_cast<double>(duration.count()) / 1e6; }

// What the numbers rest on, in the order they matter to a reader.
std::vector<std::string> assumptions(const fec::StrengthQuery& query, const fec::Strength& strength,
                                     const PathState& path, const StreamState& stream) {
  std::vector<std::string> list;
  list.push_back(
      path.loss.burst > 1
          ? fmt::format("losses in runs of {} packets on average (two-state Gilbert-Elliott), of this "
                        "class's packets",
                        path.loss.burst)
          : "independent losses");
  list.push_back(
      fmt::format("{:.0f} packets/s of {} bytes; full blocks: one that ends with its message is shorter",
                  stream.packets_per_second, stream.packet_bytes));
  list.push_back(
      fmt::format("a packet may be held for {:.1f} ms: an endpoint timeout of {} leaves {:.1f} ms beside the "
                  "round trip, and a hold of more than 1.5 round trips stalls the sender",
                  milliseconds_of(query.hold_bound), format_duration(path.endpoint_timeout),
                  milliseconds_of(recovery::hold_bound(*path.rtt, path.endpoint_timeout))));
  list.push_back(fmt::format("repairs carry their list and fit {} bytes, or their list travels apart",
                             path.wan_mtu_bytes));
  if (!strength.meets_target) {
    list.push_back(fmt::format("the target of {:.1e} cannot be met within max_overhead {} and the hold",
                               query.target_residual, query.max_overhead));
  }
  if (!strength.fits_hold_bound) {
    list.emplace_back(
        "a group takes longer than packets may be held: early losses in it are recovered too late, and its "
        "blocks are closed by time");
  }
  list.emplace_back("the agent rounds its estimates to the safe side by up to a fifth before it asks");
  return list;
}

}  // namespace

json explain(const recovery::PolicyTable& policy, recovery::Tag tag, const PathState& path,
             const StreamState& stream) {
  const recovery::ClassPolicy& row = policy.classes[tag.class_id];
  const recovery::LevelPolicy& level = policy.level(tag);
  if (!recovery::is_coded(level, path.measured_loss, false)) {
    return {{"k", 0},
            {"r", 0},
            {"interleave", 1},
            {"overhead", 0.0},
            {"residual", path.loss.loss},
            {"added_delay_ms", 0.0},
            {"assumptions",
             json::array({level.target_residual ? fmt::format("not coded while loss is at or below {}",
                                                              level.uncoded_below_loss)
                                                : std::string("this class is never coded")})}};
  }
  const fec::StrengthQuery query = recovery::strength_query(*level.target_residual, policy.fec, path, stream);
  const fec::Strength strength = row.fixed
                                     ? fec::assess(query, row.fixed->k, row.fixed->r, row.fixed->interleave)
                                     : fec::StrengthChooser().choose(query);
  json list = assumptions(query, strength, path, stream);
  if (row.fixed) list.push_back("the policy fixes this code");
  return {{"k", strength.columns},
          {"r", strength.rows},
          {"interleave", strength.interleave},
          {"overhead", strength.overhead},
          {"residual", strength.residual},
          {"added_delay_ms", milliseconds_of(strength.added_delay)},
          {"assumptions", std::move(list)}};
}

namespace {

// As given on the command line.
struct Request {
  std::string policy_path;  // one of these two, or neither
  std::string config_path;
  std::string class_name;
  unsigned level = 0;
  double loss = 0;
  double burst = 1;
  std::string rtt;
  std::string rate;
  std::string endpoint_timeout = "67ms";
  std::size_t pmtu_bytes = 1024;
  std::size_t mtu_bytes = 0;
  bool ipv6 = false;
  bool as_json = false;
};

struct Situation {
  recovery::PolicyTable policy;
  recovery::Tag tag;
  PathState path;
  StreamState stream;
};

Result<recovery::PolicyTable> classes_of(const Request& request) {
  if (!request.config_path.empty()) {
    auto config = control::load_config(request.config_path);
    if (!config) return fail(config.error());
    return std::move(config->policy.classes);
  }
  if (request.policy_path.empty()) return recovery::PolicyTable::defaults();
  auto policy = control::load_policy_file(request.policy_path);
  if (!policy) return fail(policy.error());
  if (!policy->agents)
    return fail("this policy runs no agents", request.policy_path, "name a policy with `agents = true`");
  return std::move(policy->traffic.classes);
}

std::string names_of(const recovery::PolicyTable& policy) {
  std::string names;
  for (const recovery::ClassPolicy& row : policy.classes)
    names += (names.empty() ? "" : ", ") + row.name;
  return names;
}

Result<Situation> understand(const Request& request) {
  auto policy = classes_of(request);
  if (!policy) return fail(policy.error());
  Situation situation{.policy = *std::move(policy), .tag = {}, .path = {}, .stream = {}};
  const auto class_id = situation.policy.find(request.class_name);
  if (!class_id)
    return fail(fmt::format("no class '{}'", request.class_name), "",
                "classes: " + names_of(situation.policy));
  situation.tag = {.class_id = *class_id, .level = static_cast<std::uint8_t>(request.level)};

  const auto rtt = parse_duration(request.rtt);
  if (!rtt) return fail(rtt.error());
  const auto timeout = parse_duration(request.endpoint_timeout);
  if (!timeout) return fail(timeout.error());
  const auto rate = parse_rate(request.rate);
  if (!rate) return fail(rate.error());
  const std::size_t headers =
      (request.ipv6 ? roce::kIpv6Bytes : roce::kIpv4Bytes) + roce::kUdpBytes + roce::kBthBytes;
  situation.stream.packet_bytes = headers + request.pmtu_bytes + roce::kIcrcBytes;
  situation.stream.packets_per_second =
      static_cast<double>(*rate) / 8 / static_cast<double>(situation.stream.packet_bytes);
  situation.path = {.loss = {.loss = request.loss, .burst = request.burst},
                    .measured_loss = request.loss,
                    .rtt = *rtt,
                    .endpoint_timeout = *timeout,
                    .wan_mtu_bytes = request.mtu_bytes,
                    .ipv6 = request.ipv6};
  if (request.mtu_bytes == 0) {
    // The usual one that takes the repairs at all.
    constexpr std::size_t kEthernetMtu = 1500;
    constexpr std::size_t kJumboMtu = 9000;
    const std::size_t repair = packet_sizes(situation.path, situation.stream.packet_bytes).repair_bytes;
    situation.path.wan_mtu_bytes = repair <= kEthernetMtu ? kEthernetMtu : kJumboMtu;
  }
  return situation;
}

int run(const Request& request) {
  const auto situation = understand(request);
  if (!situation) return complain(situation.error(), kExitUsage);
  const json answer = explain(situation->policy, situation->tag, situation->path, situation->stream);
  if (request.as_json) {
    std::cout << answer.dump() << '\n';
    return kExitOk;
  }
  if (answer["r"] == 0) {
    std::cout << fmt::format("not coded: residual loss {:.2e}\n", answer["residual"].get<double>());
  } else {
    std::cout << fmt::format(
        "k {}, r {}, interleave {}: residual loss {:.2e}, overhead {:.2f} %, a loss waits up to {:.1f} ms\n",
        answer["k"].get<unsigned>(), answer["r"].get<unsigned>(), answer["interleave"].get<unsigned>(),
        answer["residual"].get<double>(), 100 * answer["overhead"].get<double>(),
        answer["added_delay_ms"].get<double>());
  }
  for (const json& assumption : answer["assumptions"])
    std::cout << "- " << assumption.get<std::string>() << '\n';
  return kExitOk;
}

// CLI::Range lets nan pass: it is neither below nor above.
std::string must_be_number(const std::string& text) {
  return std::isnan(std::strtod(text.c_str(), nullptr)) ? "'" + text + "' is no number" : std::string();
}

}  // namespace

void add_explain(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("explain", "Show which code a class gets on a path, what it costs and leaves lost");
  const auto request = std::make_shared<Request>();
  CLI::Option* config =
      command->add_option("--config", request->config_path, "weftd's configuration, for its classes");
  command
      ->add_option("--policy", request->policy_path,
                   "or a policy file; without either: the classes as shipped")
      ->excludes(config);
  command->add_option("--class", request->class_name, "class of the policy")->required();
  command->add_option("--level", request->level, "level of the class")
      ->check(CLI::Range(0U, static_cast<unsigned>(recovery::kLevels - 1)))
      ->capture_default_str();
  command->add_option("--loss", request->loss, "fraction of packets lost")
      ->check(CLI::Range(0.0, 0.5))
      ->check(must_be_number)
      ->required();
  command->add_option("--burst", request->burst, "mean run of lost packets; 1: independent losses")
      ->check(CLI::Range(1.0, 1e4))
      ->check(must_be_number)
      ->capture_default_str();
  command->add_option("--rtt", request->rtt, "round trip, like 30ms")->required();
  command->add_option("--rate", request->rate, "what the class sends, at IP level, like 200mbit")->required();
  command->add_option("--pmtu", request->pmtu_bytes, "RoCE path MTU: payload of a full packet")
      ->check(CLI::IsMember(std::vector<std::size_t>(roce::kPmtus.begin(), roce::kPmtus.end())))
      ->capture_default_str();
  command
      ->add_option("--mtu", request->mtu_bytes,
                   "IP MTU of the WAN; otherwise 1500, or 9000 where that is too small")
      ->check(CLI::Range(576, 65535));
  command->add_option("--endpoint-timeout", request->endpoint_timeout, "local ACK timeout of the endpoints")
      ->capture_default_str();
  command->add_flag("--ipv6", request->ipv6, "over IPv6");
  command->add_flag("--json", request->as_json, "print one JSON object");
  command->callback([&chosen, request] { chosen = [request] { return run(*request); }; });
}

}  // namespace weft::ctl
