// What `weftctl doctor` looks at, one function per concern. Each takes what was read of the machine and returns what it
// found, so that all but the reading is tested without one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/control/config.h"
#include "agent/dataplane/features.h"
#include "agent/dataplane/interface.h"
#include "agent/dataplane/offloads.h"

namespace weft::ctl {

enum class Verdict : std::uint8_t {
  kOk,
  kWarn,    // weftd runs, but worse than it could; or something only the operator can see
  kFailed,  // weftd does not run, or protects nothing
};
std::string_view verdict_name(Verdict verdict);

struct Finding {
  Verdict verdict = Verdict::kOk;
  std::string where;
  std::string what;
  std::string hint;  // empty when fine
};
using Findings = std::vector<Finding>;

Findings check_features(const dataplane::Features& features);
// Bridge, queues, MTU, and what the ports are.
Findings check_ports(const control::Config& config,
                     const std::filesystem::path& sysfs = dataplane::kSysClassNet);
// The largest RoCE path MTU whose packets can be repaired on this WAN, and whether the kernel can carry its frames.
Findings check_path_mtu(const control::Config& config, const dataplane::Features& features);
Findings check_offloads(const control::PortConfig& port, const std::optional<dataplane::Offloads>& offloads);
Findings check_keys(const control::Config& config);
// `limit_bytes`: RLIMIT_MEMLOCK; nullopt when there is none.
Findings check_memory_lock(std::optional<std::uint64_t> limit_bytes);
// What matters and is on other machines.
Findings reminders(const control::Config& config);

// The largest PMTU of RoCE that is protected on a path that takes IP packets of this size; 0 when none is.
std::uint32_t largest_protected_pmtu(std::uint32_t wan_mtu_bytes);

}  // namespace weft::ctl
