// agent/daemon: weftd put together: configuration, data path, signals, systemd. This is the control thread; the
// data path has threads of its own and goes on whatever this one waits for.
//
//   SIGTERM, SIGINT  what is held let go, programs detached, what was taken sent on, statistics and fills written, exit
//   SIGHUP           configuration read again; a bad file changes nothing
//   local API        agent/control/api.h
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "agent/base/unique_fd.h"
#include "agent/control/config.h"
#include "agent/daemon/api_server.h"
#include "agent/daemon/doorbell.h"
#include "agent/daemon/fill_file.h"
#include "agent/daemon/flow_learner.h"
#include "agent/daemon/notifier.h"
#include "agent/daemon/overload_guard.h"
#include "agent/daemon/peer_report.h"
#include "agent/dataplane/datapath.h"

namespace weft::daemon {

struct DaemonOptions {
  std::string config_path;
  std::string stats_path;     // written on exit; empty: not
  std::string fill_log_path;  // begun anew, written to while running; empty: not
};

class Daemon {
 public:
  // Takes over the signals, for threads started later too, then starts the data path. The Error's code is that
  // of the system call that failed.
  static Result<std::unique_ptr<Daemon>> start(DaemonOptions options, control::Config config,
                                               const dataplane::Features& features);

  // Until told to stop, or a port has gone: then there is nothing to protect, and whoever restarts this process makes it
  // try anew.
  Status run();

 private:
  Daemon(DaemonOptions options, control::Config config, Doorbell bell)
      : options_(std::move(options)), config_(std::move(config)), bell_(std::move(bell)) {}

  Status serve();
  Status reload();
  Status reload_config();
  Status apply_tables(const control::Config& next);
  Status forget_flows();
  Status change_mode(control::Mode mode);
  Result<nlohmann::json> answer(const nlohmann::json& request);
  Result<nlohmann::json> statistics();
  Result<nlohmann::json> flows();
  void supervise(Nanoseconds now);
  Status check_ports() const;
  void take_news();
  void write_fills();
  void shed_newest_flow();
  std::string status_line() const;

  DaemonOptions options_;
  control::Config config_;
  const Doorbell bell_;
  UniqueFd signals_;
  std::optional<ApiServer> api_;
  std::optional<FillFile> fill_file_;
  std::unique_ptr<dataplane::Datapath> datapath_;
  Notifier notifier_;
  FlowLearner learner_;
  PeerLog peer_log_;
  OverloadGuard overload_;
  std::uint64_t flows_shed_ = 0;
  std::uint64_t stalls_seen_ = 0;
  Nanoseconds next_check_{0};
  Nanoseconds next_sweep_{0};
};

}  // namespace weft::daemon
