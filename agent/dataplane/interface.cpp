#include "agent/dataplane/interface.h"

#include <algorithm>
#include <fstream>
#include <string_view>

namespace weft::dataplane {
namespace {

namespace fs = std::filesystem;

std::uint32_t count_receive_queues(const fs::path& queues) {
  std::uint32_t count = 0;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(queues, ignored)) {
    if (entry.path().filename().string().starts_with("rx-")) ++count;
  }
  return count;
}

// The kernel links a stacked device to each device below it.
std::vector<std::string> devices_below(const fs::path& folder) {
  constexpr std::string_view kLink = "lower_";
  std::vector<std::string> names;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kLink)) names.push_back(name.substr(kLink.size()));
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

Result<InterfaceFacts> interface_facts(const std::string& interface, const fs::path& sysfs) {
  const fs::path folder = sysfs / interface;
  std::error_code ignored;
  if (interface.empty() || !fs::exists(folder, ignored)) {
    return fail("no such interface", interface, "'ip link' lists what there is");
  }
  InterfaceFacts facts;
  facts.receive_queues = count_receive_queues(folder / "queues");
  std::ifstream(folder / "mtu") >> facts.mtu_bytes;
  facts.made_of = devices_below(folder);
  const fs::path master = fs::read_symlink(folder / "master", ignored);
  facts.master = master.filename().string();
  facts.master_is_bridge = !facts.master.empty() && fs::exists(sysfs / facts.master / "bridge", ignored);
  return facts;
}

Status check_bridge_path(const std::string& lan, const std::string& wan, const fs::path& sysfs) {
  const auto lan_facts = interface_facts(lan, sysfs);
  if (!lan_facts) return fail(lan_facts.error());
  const auto wan_facts = interface_facts(wan, sysfs);
  if (!wan_facts) return fail(wan_facts.error());
  const std::string hint = "make both ports of one bridge: 'ip link add br0 type bridge', 'ip link set " +
                           lan + " master br0', 'ip link set " + wan + " master br0'";
  for (const auto& [name, facts] : {std::pair(lan, *lan_facts), std::pair(wan, *wan_facts)}) {
    if (!facts.master.empty() && !facts.master_is_bridge) {
      return fail("is a port of '" + facts.master + "', which is no bridge", name,
                  "name the bond or team itself, with xdp = \"generic\"");
    }
    if (facts.master.empty())
      return fail("is not a bridge port: nothing would be forwarded without the agent", name, hint);
  }
  if (lan_facts->master != wan_facts->master) {
    return fail("is a port of '" + lan_facts->master + "', but " + wan + " of '" + wan_facts->master + "'",
                lan, hint);
  }
  return {};
}

}  // namespace weft::dataplane
