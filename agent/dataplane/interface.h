// What the kernel says about a network interface, read from sysfs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "agent/base/result.h"

namespace weft::dataplane {

inline constexpr const char* kSysClassNet = "/sys/class/net";

struct InterfaceFacts {
  std::uint32_t receive_queues = 1;
  std::uint32_t mtu_bytes = 0;
  std::string master;                // the device it is a port of; empty when none
  bool master_is_bridge = false;     // else a bond, a team, ...
  std::vector<std::string> made_of;  // devices below it, when it is a bond, a team, a VLAN, ...; sorted
};

Result<InterfaceFacts> interface_facts(const std::string& interface,
                                       const std::filesystem::path& sysfs = kSysClassNet);

// Whether traffic flows between the two without us: both are ports of one bridge. Without that path a dead
// agent would be a cut cable, so start-up refuses.
Status check_bridge_path(const std::string& lan, const std::string& wan,
                         const std::filesystem::path& sysfs = kSysClassNet);

}  // namespace weft::dataplane
