// weftd: the agent. Foreground, logs to stderr; see agent/daemon/daemon.h for signals.
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <spdlog/spdlog.h>

#include "agent/base/exit_code.h"
#include "agent/base/version.h"
#include "agent/daemon/assembly.h"
#include "agent/daemon/daemon.h"
#include "agent/daemon/log.h"

namespace {

using namespace weft;

int run(const daemon::DaemonOptions& options, const std::vector<std::string>& missing) {
  auto config = control::load_config(options.config_path);
  if (!config) {
    daemon::log_error(config.error());
    return kExitUsage;
  }
  if (const Status keys = daemon::check_key_files(*config); !keys) {
    daemon::log_error(keys.error());
    return kExitUsage;
  }
  dataplane::Features features = dataplane::Features::probe();
  for (const std::string& name : missing) {
    features.pretend_missing(*dataplane::find_feature(name));
  }
  for (const dataplane::FeatureInfo& info : dataplane::feature_table()) {
    if (info.required && !features.has(info.feature)) {
      spdlog::error("this machine lacks {}: {}", info.name, info.consequence);
      return kExitMachine;
    }
  }
  auto agent = daemon::Daemon::start(options, std::move(*config), features);
  if (!agent) {
    daemon::log_error(agent.error());
    return kExitFailed;
  }
  if (const Status ended = (*agent)->run(); !ended) {
    daemon::log_error(ended.error());
    return kExitFailed;
  }
  return kExitOk;
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("The Weft agent: repairs RoCEv2 loss between datacenters", "weftd");
  app.set_version_flag("--version", std::string(kVersion));
  daemon::DaemonOptions options{.config_path = "/etc/weft/weftd.toml", .stats_path = {}, .fill_log_path = {}};
  bool debug = false;
  std::vector<std::string> missing;
  std::vector<std::string> feature_names;
  for (const dataplane::FeatureInfo& info : dataplane::feature_table()) {
    feature_names.emplace_back(info.name);
  }
  app.add_option("--config", options.config_path, "configuration file")->capture_default_str();
  app.add_option("--stats", options.stats_path, "write what was counted to this file, as JSON, on exit");
  app.add_option(
      "--fill-log", options.fill_log_path,
      "write every filled range to this file, begun anew at each start, as JSON Lines (weft-fill/1)");
  app.add_flag("--debug", debug, "log more");
  app.add_option("--pretend-missing", missing, "behave as if the kernel lacked this feature, for tests")
      ->check(CLI::IsMember(feature_names));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  daemon::set_up_log(debug);
  return run(options, missing);
} catch (const std::exception& error) {
  std::cerr << "weftd: " << error.what() << '\n';
  return weft::kExitFailed;
}
