// weft-roce: RoCEv2 traffic over a raw socket, one of two roles. testbed/rc/README.md says how to use it.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "agent/base/exit_code.h"
#include "agent/base/version.h"
#include "testbed/rc/driver/event_loop.h"
#include "testbed/rc/driver/options.h"
#include "testbed/rc/driver/port_guard.h"
#include "testbed/rc/driver/result_json.h"

namespace weft::rc {
namespace {

std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");

// How late a wake-up may be made up for by sending faster: scheduling on a busy machine, not more.
constexpr Nanoseconds kPacerCatchUp = std::chrono::milliseconds(4);

int complain(const Error& error, ExitCode code) {
  fmt::print(stderr, "weft-roce: {}\n", error.to_string());
  return code;
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return fail_errno("cannot read the fill log", path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Result<DeclaredFills> declared_fills(const Options& options, const Plan& plan) {
  if (options.fill_log.empty()) return DeclaredFills(plan.messages.size());
  const auto text = read_file(options.fill_log);
  if (!text) return fail(text.error());
  return read_fill_log(*text, plan, options.plan.pmtu_bytes, options.fill_log);
}

Status write_result(const nlohmann::ordered_json& result, const std::string& path) {
  const std::string text = result.dump() + "\n";
  if (path == "-") {
    std::cout << text << std::flush;
    return {};
  }
  std::ofstream file(path);
  if (!(file << text << std::flush)) return fail_errno("cannot write the result", path);
  return {};
}

// Runs the application until it ends; what it measured is in the application and the host afterwards.
Result<RunFacts> run(netem::PacketSocket socket, Host& host, Application& application) {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_requested = true; };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);

  EventLoop loop(std::move(socket), host, application);
  RunFacts facts;
  facts.start_unix_ns = static_cast<std::uint64_t>(
      std::chrono::duration_cast<Nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count());
  const Nanoseconds started = monotonic_now();
  fmt::print(stderr, "ready\n");
  std::fflush(stderr);
  if (Status ran = loop.run(stop_requested); !ran) return fail(ran.error());
  facts.elapsed = monotonic_now() - started;
  facts.rx_overruns = loop.rx_overruns();
  return facts;
}

int play(const Arguments& arguments, Role role) {
  const auto options = check_options(arguments);
  if (!options) return complain(options.error(), kExitUsage);
  const auto guard = PortGuard::open();
  if (!guard) return complain(guard.error(), kExitMachine);
  auto socket = netem::PacketSocket::open(options->interface);
  if (!socket) return complain(socket.error(), kExitMachine);

  const Plan plan = make_plan(options->messages, options->plan);
  const PayloadPattern pattern(options->plan.seed);
  Host host(Pacer(options->rate_bits_per_second, kPacerCatchUp));
  for (const PlannedQp& qp : plan.qps)
    host.add_qp(qp_config(*options, qp, role, socket->mac_address()));

  nlohmann::ordered_json result;
  bool good = false;
  if (role == Role::kRequester) {
    RequesterApp application(*options, plan, pattern, host);
    const auto facts = run(std::move(*socket), host, application);
    if (!facts) return complain(facts.error(), kExitFailed);
    result = requester_result(*options, plan, application, host.counters(), *facts);
    good = application.finished() && host.counters().qp_errors == 0 &&
           result["totals"].value("corrupt_bytes", std::uint64_t{0}) == 0;
  } else {
    ResponderApp application(plan, pattern, host);
    const auto facts = run(std::move(*socket), host, application);
    if (!facts) return complain(facts.error(), kExitFailed);
    const auto fills = declared_fills(*options, plan);
    if (!fills) return complain(fills.error(), kExitFailed);
    result = responder_result(*options, plan, application, *fills, host.counters(), *facts);
    good = result["totals"]["corrupt_bytes"] == 0 && application.unexpected_messages() == 0;
  }
  if (const Status written = write_result(result, options->out); !written)
    return complain(written.error(), kExitFailed);
  return good ? kExitOk : kExitFailed;
}

int run_command(int argc, char** argv) {
  CLI::App app("RoCEv2 messages over a raw socket: completion times, and every byte checked", "weft-roce");
  app.set_version_flag("--version", std::string(kVersion));
  app.require_subcommand(1);
  Arguments requester_arguments;
  Arguments responder_arguments;
  CLI::App* requester = app.add_subcommand("requester", "post the messages and measure");
  CLI::App* responder = app.add_subcommand("responder", "take the messages and check them, until SIGTERM");
  for (CLI::App* command : {requester, responder})
    command->option_defaults()->always_capture_default();
  define_options(*requester, Role::kRequester, requester_arguments);
  define_options(*responder, Role::kResponder, responder_arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  return *requester ? play(requester_arguments, Role::kRequester)
                    : play(responder_arguments, Role::kResponder);
}

}  // namespace
}  // namespace weft::rc

int main(int argc, char** argv) try {
  return weft::rc::run_command(argc, argv);
} catch (const std::exception& error) {
  std::fprintf(stderr, "weft-roce: %s\n", error.what());
  return weft::kExitFailed;
}
