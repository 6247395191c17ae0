#include "agent/ctl/check.h"

#include <iostream>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "agent/control/config.h"
#include "agent/daemon/assembly.h"

namespace weft::ctl {
namespace {

// What has to be the same at the peers.
std::string agreement(const control::Config& config) {
  std::string classes;
  for (const recovery::ClassPolicy& row : config.policy.classes.classes)
    classes += " " + row.name;
  const bool is_xor = config.policy.classes.fec.code == recovery::CodeKind::kXor;
  return fmt::format("must agree with the peers: classes{}; code {}; WAN MTU {}; UDP port {}\n", classes,
                     is_xor ? "xor" : "rs", config.wan_mtu_bytes, config.udp_port);
}

int check(const std::string& path) {
  const auto config = control::load_config(path);
  if (!config) return complain(config.error(), kExitUsage);
  if (const Status keys = daemon::check_key_files(*config); !keys) return complain(keys.error(), kExitUsage);
  std::cout << path << ": good\n" << agreement(*config);
  return kExitOk;
}

}  // namespace

void add_check(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("check", "Check a configuration and its key files; exit status 2 if bad");
  auto path = std::make_shared<std::string>("/etc/weft/weftd.toml");
  command->add_option("--config", *path, "configuration file")->capture_default_str();
  command->callback([path, &chosen] { chosen = [path] { return check(*path); }; });
}

}  // namespace weft::ctl
