#include "agent/daemon/daemon.h"

#include <csignal>

#include <nlohmann/json.hpp>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include "agent/base/clock.h"
#include "agent/base/text_file.h"
#include "agent/daemon/assembly.h"
#include "agent/daemon/flow_report.h"
#include "agent/daemon/log.h"
#include "agent/daemon/repair.h"
#include "agent/daemon/statistics.h"

namespace weft::daemon {
namespace {

constexpr Nanoseconds kSupervisionPeriod = std::chrono::milliseconds(100);
// How long a flow may be silent before its table entry goes. Longer than any compute gap between two steps.
constexpr Nanoseconds kFlowIdleLimit = std::chrono::minutes(10);
constexpr Nanoseconds kSweepPeriod = std::chrono::seconds(10);
// A data-path thread that takes longer than this to come to an errand is not running.
constexpr Nanoseconds kErrandPatience = std::chrono::seconds(1);

// Blocked here, so blocked in every thread that starts later; read from the descriptor.
Result<UniqueFd> take_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    sigaddset(&set, number);
  }
  if (::pthread_sigmask(SIG_BLOCK, &set, nullptr) != 0) return fail_errno("cannot block signals");
  UniqueFd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return fail_errno("cannot receive signals");
  return fd;
}

// The frame memory is pinned. CAP_IPC_LOCK or memory cgroups may make the limit irrelevant, so a refusal is
// worth a line, no more.
void raise_memory_lock_limit() {
  const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
  rlimit present{};
  ::getrlimit(RLIMIT_MEMLOCK, &present);
  if (present.rlim_cur == RLIM_INFINITY || ::setrlimit(RLIMIT_MEMLOCK, &unlimited) == 0) return;
  spdlog::warn("RLIMIT_MEMLOCK stays at {} KiB; should the frame memory not be accepted, raise LimitMEMLOCK",
               present.rlim_cur >> 10);
}

std::uint64_t frames_lost(const dataplane::QueueStatistics& queue) {
  return queue.kernel.rx_dropped + queue.kernel.rx_ring_full + queue.agent->tx_dropped.get() +
         queue.agent->rx_no_frame.get();
}

void say_generic(const control::PortConfig& port) {
  if (port.xdp == control::XdpMode::kGeneric) {
    spdlog::warn("{}: XDP is attached generically, as configured: slower than the driver's own",
                 port.interface);
  }
}

}  // namespace

Result<std::unique_ptr<Daemon>> Daemon::start(DaemonOptions options, control::Config config,
                                              const dataplane::Features& features) {
  if (auto checked = check_machine(config); !checked) return fail(checked.error());
  auto bell = Doorbell::create();
  if (!bell) return fail(bell.error());
  std::unique_ptr<Daemon> daemon(new Daemon(std::move(options), std::move(config), std::move(*bell)));
  auto signals = take_signals();
  if (!signals) return fail(signals.error());
  daemon->signals_ = std::move(*signals);
  raise_memory_lock_limit();
  for (const dataplane::FeatureInfo& info : dataplane::feature_table()) {
    if (!features.has(info.feature)) spdlog::warn("this kernel lacks {}: {}", info.name, info.consequence);
  }
  if (!daemon->options_.fill_log_path.empty()) {
    auto fill_file = FillFile::create(daemon->options_.fill_log_path);
    if (!fill_file) return fail(fill_file.error());
    daemon->fill_file_.emplace(std::move(*fill_file));
  }
  auto engine = engine_config(daemon->config_);
  if (!engine) return fail(engine.error());
  auto datapath = dataplane::Datapath::start(
      datapath_options(daemon->config_), features, classifier_tables(daemon->config_),
      daemon->config_.policy.classes,
      [&](recovery::FrameIo& io) { return std::make_unique<RepairProcessor>(*engine, io, daemon->bell_); });
  if (!datapath) return fail(datapath.error());
  daemon->datapath_ = std::move(*datapath);
  auto api = ApiServer::listen(daemon->config_.api_socket);
  if (!api) return fail(api.error());
  daemon->api_ = std::move(*api);
  say_generic(daemon->config_.lan);
  say_generic(daemon->config_.wan);
  return daemon;
}

Status Daemon::run() {
  spdlog::info("{}", status_line());
  notifier_.ready(status_line());
  const Status ended = serve();
  notifier_.stopping();
  datapath_->stop();
  write_fills();
  spdlog::info("stopped: the bridge has the traffic");
  if (!options_.stats_path.empty()) {
    const auto counted = statistics();
    const Status written = counted ? write_text_file(options_.stats_path, counted->dump(2) + "\n")
                                   : Status(fail(counted.error()));
    if (!written && ended) return written;
    if (!written) log_error(written.error());
  }
  return ended;
}

Status Daemon::serve() {
  for (;;) {
    pollfd fds[] = {{signals_.get(), POLLIN, 0}, {api_->fd(), POLLIN, 0}, {bell_.fd(), POLLIN, 0}};
    const auto wait = std::clamp(next_check_ - monotonic_now(), Nanoseconds::zero(), kSupervisionPeriod);
    ::poll(fds, std::size(fds), static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(wait).count()));
    signalfd_siginfo signal{};
    if (::read(signals_.get(), &signal, sizeof(signal)) == sizeof(signal)) {
      if (signal.ssi_signo != SIGHUP) return {};
      static_cast<void>(reload());  // logged there
    }
    api_->serve([this](const nlohmann::json& request) { return answer(request); });
    if (bell_.answer()) take_news();
    if (const Nanoseconds now = monotonic_now(); now >= next_check_) {
      next_check_ = now + kSupervisionPeriod;
      supervise(now);
      if (Status ports = check_ports(); !ports) return ports;
    }
  }
}

Status Daemon::check_ports() const {
  for (const auto& [port, config] :
       {std::pair(recovery::Port::kLan, &config_.lan), std::pair(recovery::Port::kWan, &config_.wan)}) {
    if (!datapath_->attached(port)) {
      return fail("the interface has gone, or the XDP program was taken off it", config->interface,
                  "start weftd again when it is there");
    }
  }
  return {};
}

Result<nlohmann::json> Daemon::statistics() {
  RepairProcessor::Report repair;
  const bool answered = datapath_->run_inside(
      [&](std::uint32_t, dataplane::Processor& processor) {
        repair = static_cast<RepairProcessor&>(processor).report();
      },
      kErrandPatience);
  if (!answered) return fail("the data path does not answer");
  auto counted = statistics_json(*datapath_, repair, config_.policy.classes,
                                 {.flows_shed = flows_shed_, .flows_learned = learner_.counts()});
  if (counted && fill_file_) (*counted)["fills_not_logged"] = fill_file_->missed();
  return counted;
}

Result<nlohmann::json> Daemon::flows() {
  recovery::NewestFlows newest(kMostListedFlows);
  const bool answered = datapath_->run_inside(
      [&](std::uint32_t, dataplane::Processor& processor) {
        static_cast<RepairProcessor&>(processor).list_flows(newest);
      },
      kErrandPatience);
  if (!answered) return fail("the data path does not answer");
  return flows_json(newest, config_.policy.classes);
}

Result<nlohmann::json> Daemon::answer(const nlohmann::json& request) {
  const std::string command = request["command"];
  if (command == "status") {
    auto result = statistics();
    if (result) (*result)["mode"] = mode_name(config_.mode);
    return result;
  }
  if (command == "flows") return flows();
  if (command == "reload") {
    if (auto done = reload(); !done) return fail(done.error());
    return nlohmann::json(status_line());
  }
  if (command == "mode") {
    const auto mode = control::parse_mode(request.value("mode", std::string()));
    if (!mode) return fail(mode.error());
    if (auto done = change_mode(*mode); !done) return fail(done.error());
    return nlohmann::json(status_line());
  }
  return fail(fmt::format("unknown command '{}'", command), {}, "status, flows, reload or mode");
}

// The mode first, when it gives traffic back to the bridge: that has its moment, the other tables have not.
Status Daemon::apply_tables(const control::Config& next) {
  dataplane::Classifier& classifier = datapath_->classifier();
  const dataplane::ClassifierTables tables = classifier_tables(next);
  if (next.mode != config_.mode && next.mode != control::Mode::kProtect) {
    Status handed = datapath_->hand_over([&] { return classifier.set_mode(tables.mode); });
    if (!handed) return handed;
  }
  return classifier.apply(tables, next.policy.classes);
}

void Daemon::write_fills() {
  if (!fill_file_) return;
  std::vector<recovery::FillLog::Taken> taken;
  datapath_->run_inside(
      [&](std::uint32_t, dataplane::Processor& processor) {
        taken.push_back(static_cast<RepairProcessor&>(processor).take_fills());
      },
      kErrandPatience);
  for (const auto& fills : taken) {
    if (const Status written = fill_file_->append(fills, config_.policy.classes); !written)
      log_error(written.error());
  }
}

// Until the next reload, which brings back the file's.
Status Daemon::change_mode(control::Mode mode) {
  control::Config next = config_;
  next.mode = mode;
  if (auto applied = apply_tables(next); !applied) return applied;
  config_.mode = mode;
  spdlog::info("mode changed: {}", status_line());
  notifier_.status(status_line());
  return {};
}

// What made a flow ours, or its class, may be gone from the tables: it must not go on for as long as it is remembered.
Status Daemon::forget_flows() {
  return datapath_->hand_over([&]() -> Status {
    const auto forgotten = datapath_->classifier().forget_idle(Nanoseconds::max());
    if (!forgotten) return fail(forgotten.error());
    return {};
  });
}

Status Daemon::reload_config() {
  auto next = control::load_config(options_.config_path);
  if (!next) return fail(next.error());
  if (auto allowed = check_reload(config_, *next); !allowed) return allowed;
  if (auto checked = check_key_files(*next); !checked) return checked;
  if (auto checked = check_machine(*next); !checked) return checked;
  auto engine = engine_config(*next);
  if (!engine) return fail(engine.error());
  if (auto applied = apply_tables(*next); !applied) return applied;
  if (auto forgotten = forget_flows(); !forgotten) return forgotten;
  write_fills();  // while their classes are still those of config_
  config_ = std::move(*next);
  const bool replaced = datapath_->run_inside(
      [&](std::uint32_t, dataplane::Processor& processor) {
        static_cast<RepairProcessor&>(processor).replace(*engine);
      },
      kErrandPatience);
  if (!replaced) return fail("the data path does not answer; its recovery keeps the policy it had");
  return {};
}

Status Daemon::reload() {
  notifier_.reloading();
  Status done = reload_config();
  if (done) {
    spdlog::info("reloaded: {}", status_line());
  } else {
    log_error(done.error());
    spdlog::error("not reloaded: the running configuration stays");
  }
  notifier_.ready(status_line());
  return done;
}

void Daemon::take_news() {
  std::vector<RepairProcessor::News> news;
  const bool answered = datapath_->run_inside(
      [&](std::uint32_t, dataplane::Processor& processor) {
        news.push_back(static_cast<RepairProcessor&>(processor).take_news());
      },
      kErrandPatience);
  if (!answered) bell_.ring();
  for (const RepairProcessor::News& part : news) {
    peer_log_.tell(part.peers);
    if (auto error = learner_.follow(datapath_->classifier(), part.flows, monotonic_now())) {
      error->what =
          "a flow the peer announced is not taken from the WAN unless its DSCP says so: " + error->what;
      log_warning(*error);
    }
  }
}

void Daemon::supervise(Nanoseconds now) {
  if (datapath_->healthy()) notifier_.alive(now);
  write_fills();
  if (const std::uint64_t stalls = datapath_->stalls(); stalls != stalls_seen_) {
    spdlog::warn("the data path did not run for a while; the bridge had the traffic ({} times so far)",
                 stalls);
    stalls_seen_ = stalls;
  }
  if (const auto statistics = datapath_->statistics()) {
    std::uint64_t lost = 0;
    for (const dataplane::QueueStatistics& queue : *statistics) {
      lost += frames_lost(queue);
    }
    if (overload_.check(lost)) shed_newest_flow();
  }
  if (now < next_sweep_) return;
  next_sweep_ = now + kSweepPeriod;
  if (const auto swept = datapath_->classifier().forget_idle(now - kFlowIdleLimit); !swept)
    log_error(swept.error());
}

void Daemon::shed_newest_flow() {
  const auto newest = datapath_->classifier().newest_flow();
  if (!newest) {
    log_error(newest.error());
    return;
  }
  if (!*newest) return;
  if (const Status shed = datapath_->hand_over([&] { return datapath_->classifier().shed_flow(**newest); });
      !shed) {
    log_error(shed.error());
    return;
  }
  ++flows_shed_;
  spdlog::warn("overload: flow {} to {} QPN {:#x} is left to the bridge ({} flows so far)",
               (*newest)->src.to_string(), (*newest)->dst.to_string(), (*newest)->dest_qpn, flows_shed_);
}

std::string Daemon::status_line() const {
  return fmt::format("{}: {} (lan) and {} (wan), {} peer{}", mode_name(config_.mode), config_.lan.interface,
                     config_.wan.interface, config_.peers.size(), config_.peers.size() == 1 ? "" : "s");
}

}  // namespace weft::daemon
