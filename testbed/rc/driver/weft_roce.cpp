// weft-roce: RoCEv2 traffic over a raw socket, one of two roles. testbed/rc/README.md says how to use it.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "agent/base/clock.h"
#include "agent/base/exit_code.h"
#include "agent/base/stop_signal.h"
#include "agent/base/text_file.h"
#include "agent/base/version.h"
#include "testbed/rc/driver/event_loop.h"
#include "testbed/rc/driver/options.h"
#include "testbed/rc/driver/port_guard.h"
#include "testbed/rc/driver/result_json.h"

namespace weft::rc {
namespace {

// How late a wake-up may be made up for by sending faster: scheduling on a busy machine, not more.
constexpr Nanoseconds kPacerCatchUp = std::chrono::milliseconds(4);

ExitCode complain(const Error& error, ExitCode code) { return weft::complain("weft-roce", error, code); }

Result<DeclaredFills> declared_fills(const Options& options, const Plan& plan) {
  if (options.fill_log.empty()) return DeclaredFills(plan.messages.size());
  const auto text = read_text_file(options.fill_log);
  if (!text) return fail(text.error());
  return read_fill_log(*text, plan, options.plan.pmtu_bytes, options.fill_log);
}

// Runs the application until it ends; what it measured is in the application and the host afterwards.
Result<RunFacts> run(netem::PacketSocket socket, Host& host, Application& application) {
  const std::atomic<bool>& stop = stop_on_signals();
  EventLoop loop(std::move(socket), host, application);
  RunFacts facts;
  facts.start_unix_ns = static_cast<std::uint64_t>(clock_now(CLOCK_REALTIME).count());
  const Nanoseconds started = monotonic_now();
  fmt::print(stderr, "ready\n");
  std::fflush(stderr);
  if (Status ran = loop.run(stop); !ran) return fail(ran.error());
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
  if (const Status written = write_text_file(options->out, result.dump() + "\n"); !written)
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
