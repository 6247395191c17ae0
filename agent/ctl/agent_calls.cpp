#include "agent/ctl/agent_calls.h"

#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "agent/control/api.h"
#include "agent/control/config.h"

namespace weft::ctl {
namespace {

using nlohmann::json;

struct Call {
  std::string socket = control::Config().api_socket;
  json request;
  bool as_json = false;
};

// Every call has these.
std::shared_ptr<Call> add_call(CLI::App& command, std::string_view name) {
  auto call = std::make_shared<Call>();
  call->request["command"] = name;
  command.add_option("--socket", call->socket, "the agent's [api] socket")->capture_default_str();
  command.add_flag("--json", call->as_json, "print the answer as JSON");
  return call;
}

int perform(const Call& call, void (*print)(const json& result)) {
  const auto result = control::call_agent(call.socket, call.request);
  if (!result) return complain(result.error(), kExitFailed);
  if (call.as_json) {
    std::cout << result->dump(2) << '\n';
  } else {
    print(*result);
  }
  return kExitOk;
}

// Sum over classes.
std::uint64_t event(const json& peer, const char* name) {
  std::uint64_t sum = 0;
  const json& events = peer.at("events");
  if (const auto found = events.find(name); found != events.end()) {
    for (const json& count : *found)
      sum += count.get<std::uint64_t>();
  }
  return sum;
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

// "exact:0 with 5 repairs for 99 packets, pp:4 with ..."
std::string coded_now(const json& peer) {
  std::string text;
  for (const json& strength : peer.at("strengths")) {
    text += fmt::format("{}{}:{} with {} repairs for {} packets", text.empty() ? "" : ", ",
                        strength.at("class").get<std::string>(), strength.at("level").get<unsigned>(),
                        strength.at("r").get<unsigned>(), strength.at("k").get<unsigned>());
  }
  return text.empty() ? "nothing" : text;
}

void print_peer(const json& peer) {
  const json& loss = peer.at("measured_loss");
  const auto lost = loss.at("lost_packets").get<std::uint64_t>();
  const auto expected = loss.at("expected_packets").get<std::uint64_t>();
  const auto source_bytes = event(peer, "source_sent_bytes");
  fmt::print("peer {}: {}\n", peer.at("name").get<std::string>(),
             peer.at("ready").get<bool>() ? "protected" : "not connected, traffic passes unprotected");
  if (!peer.at("rtt_ms").is_null())
    fmt::print("  round trip      {:.1f} ms\n", peer.at("rtt_ms").get<double>());
  if (!peer.at("agreed").is_null())
    fmt::print("  WAN MTU         {} bytes\n", peer.at("agreed").at("wan_mtu_bytes").get<unsigned>());
  for (const json& shortcoming : peer.at("shortcomings")) {
    fmt::print("  SHORTCOMING     {}\n  HINT            {}\n", shortcoming.at("what").get<std::string>(),
               shortcoming.at("hint").get<std::string>());
  }
  fmt::print(
      "  to it           {} packets, {} flows; it reports {} of {} lost ({:.2g} %), {} beyond repair\n",
      event(peer, "source_sent"), peer.at("flows").at("sending").get<std::uint64_t>(), lost, expected,
      percent(lost, expected), loss.at("undecodable_packets").get<std::uint64_t>());
  fmt::print("  overhead        repairs {:.2f} %, control {:.2f} % of source bytes\n",
             percent(event(peer, "repair_sent_bytes"), source_bytes),
             percent(event(peer, "control_sent_bytes"), source_bytes));
  fmt::print("  coded now       {}\n", coded_now(peer));
  fmt::print("  from it         {} packets, {} flows; {} lost, {} rebuilt, {} filled, {} wrong ICRC\n",
             event(peer, "source_received"), peer.at("flows").at("receiving").get<std::uint64_t>(),
             event(peer, "lost_packets"), event(peer, "recovered"), event(peer, "filled"),
             event(peer, "source_bad_icrc"));
  const json& recovery = peer.at("recovery_ms");
  if (!recovery.at("p99").is_null())
    fmt::print("  rebuilt after   {:.1f} ms (p50), {:.1f} ms (p99)\n", recovery.at("p50").get<double>(),
               recovery.at("p99").get<double>());
  fmt::print("  held now        {} frames; {} kept for decoding\n",
             peer.at("frames").at("held").get<std::uint64_t>(),
             peer.at("frames").at("kept").get<std::uint64_t>());
}

void print_status(const json& status) {
  const json& learned = status.at("flows_learned");
  fmt::print("mode {}; {} stalls, {} flows shed, {} learned from announcements ({} refused)\n",
             status.at("mode").get<std::string>(), status.at("stalls").get<std::uint64_t>(),
             status.at("flows_shed").get<std::uint64_t>(), learned.at("learned").get<std::uint64_t>(),
             learned.at("refused").get<std::uint64_t>());
  if (const auto missed = status.value("fills_not_logged", std::uint64_t{0}); missed > 0)
    fmt::print("{} fills are in no line of the fill log: what they are is not known\n", missed);
  for (const json& peer : status.at("peers"))
    print_peer(peer);
}

std::string class_level(const json& flow) {
  if (flow.at("class").is_null()) return "?";
  return fmt::format("{}:{}", flow.at("class").get<std::string>(), flow.at("level").get<unsigned>());
}

void print_flows(const json& answer) {
  const json& flows = answer.at("flows");
  for (const json& flow : flows) {
    const bool sending = flow.at("direction") == "sending";
    std::string more;
    if (!flow.at("id").is_null()) more += fmt::format(", id {}", flow.at("id").get<unsigned>());
    if (!flow.at("arriving").get<bool>()) more += ", none arriving";
    for (const json& vlan : flow.at("vlans"))
      more += fmt::format(", VLAN {}", vlan.get<unsigned>());
    if (flow.at("paired").get<bool>()) more += ", paired";
    fmt::print("{} {}: {} to {} QPN {:#x} {}, {}, {}, epoch {}, {} held{}\n", sending ? "to" : "from",
               flow.at("peer").get<std::string>(), flow.at("src").get<std::string>(),
               flow.at("dst").get<std::string>(), flow.at("qpn").get<std::uint32_t>(),
               flow.at("response").get<bool>() ? "responses" : "requests", class_level(flow),
               flow.at("announced").get<bool>() ? (sending ? "confirmed" : "announced")
                                                : (sending ? "not confirmed" : "not announced"),
               flow.at("epoch").get<std::uint32_t>(), flow.at("held_frames").get<std::uint64_t>(), more);
  }
  const auto total = answer.at("total").get<std::size_t>();
  fmt::print("{} flows", total);
  if (total > flows.size()) fmt::print(", the newest {} listed", flows.size());
  fmt::print("\n");
}

void print_line(const json& line) { fmt::print("{}\n", line.get<std::string>()); }

}  // namespace

void add_status(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("status", "What the running agent does: peers, loss, repairs, fills");
  auto call = add_call(*command, "status");
  command->callback([call, &chosen] { chosen = [call] { return perform(*call, print_status); }; });
}

void add_flows(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("flows", "The running agent's flows, those with the latest packets first");
  auto call = add_call(*command, "flows");
  command->callback([call, &chosen] { chosen = [call] { return perform(*call, print_flows); }; });
}

void add_reload(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("reload", "Have the running agent read its configuration again");
  auto call = add_call(*command, "reload");
  command->callback([call, &chosen] { chosen = [call] { return perform(*call, print_line); }; });
}

void add_mode(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("mode", "Change the running agent's mode until the next reload");
  auto call = add_call(*command, "mode");
  auto mode = std::make_shared<std::string>();
  command->add_option("MODE", *mode, "protect, observe or bypass")
      ->required()
      ->check(CLI::IsMember({"protect", "observe", "bypass"}));
  command->callback([call, mode, &chosen] {
    call->request["mode"] = *mode;
    chosen = [call] { return perform(*call, print_line); };
  });
}

}  // namespace weft::ctl
