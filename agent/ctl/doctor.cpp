#include "agent/ctl/doctor.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include "agent/ctl/doctor_checks.h"

namespace weft::ctl {
namespace {

struct Visit {
  std::string config_path = "/etc/weft/weftd.toml";
  std::vector<std::string> missing;
  bool as_json = false;
};

std::optional<std::uint64_t> memory_lock_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  if (limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

Findings examine(const control::Config& config, const dataplane::Features& features) {
  Findings all;
  const auto add = [&](const Findings& some) { all.insert(all.end(), some.begin(), some.end()); };
  add(check_features(features));
  add(check_ports(config));
  add(check_path_mtu(config, features));
  for (const control::PortConfig& port : {config.lan, config.wan})
    add(check_offloads(port, dataplane::read_offloads(port.interface)));
  add(check_keys(config));
  add(check_memory_lock(memory_lock_limit()));
  add(reminders(config));
  return all;
}

void print(const Findings& findings) {
  for (const Finding& finding : findings) {
    fmt::print("{:4}  {}: {}\n", verdict_name(finding.verdict), finding.where, finding.what);
    if (!finding.hint.empty()) fmt::print("      HINT: {}\n", finding.hint);
  }
}

void print_json(const Findings& findings) {
  auto rows = nlohmann::json::array();
  for (const Finding& finding : findings) {
    rows.push_back({{"verdict", verdict_name(finding.verdict)},
                    {"where", finding.where},
                    {"what", finding.what},
                    {"hint", finding.hint}});
  }
  std::cout << nlohmann::json{{"checks", std::move(rows)}}.dump(2) << '\n';
}

int run(const Visit& visit) {
  const auto config = control::load_config(visit.config_path);
  if (!config) return complain(config.error(), kExitUsage);
  dataplane::Features features = dataplane::Features::probe();
  for (const std::string& name : visit.missing)
    features.pretend_missing(*dataplane::find_feature(name));
  const Findings findings = examine(*config, features);
  visit.as_json ? print_json(findings) : print(findings);
  return std::ranges::count(findings, Verdict::kFailed, &Finding::verdict) == 0 ? kExitOk : kExitMachine;
}

}  // namespace

void add_doctor(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand(
      "doctor", "Check this machine for weftd; exit status 3 if it lacks something. Needs root");
  auto visit = std::make_shared<Visit>();
  std::vector<std::string> names;
  for (const dataplane::FeatureInfo& info : dataplane::feature_table())
    names.emplace_back(info.name);
  command->add_option("--config", visit->config_path, "configuration file")->capture_default_str();
  command->add_flag("--json", visit->as_json, "print the findings as JSON");
  command
      ->add_option("--pretend-missing", visit->missing,
                   "behave as if the kernel lacked this feature, for tests")
      ->check(CLI::IsMember(names));
  command->callback([visit, &chosen] { chosen = [visit] { return run(*visit); }; });
}

}  // namespace weft::ctl
