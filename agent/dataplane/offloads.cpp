#include "agent/dataplane/offloads.h"

#include <cstdint>

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "agent/base/unique_fd.h"

namespace weft::dataplane {
namespace {

bool ask(int socket, const std::string& interface, void* question) {
  ifreq request{};
  if (interface.size() >= IFNAMSIZ) return false;
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_data = static_cast<char*>(question);
  return ::ioctl(socket, SIOCETHTOOL, &request) == 0;
}

std::optional<std::uint32_t> value(int socket, const std::string& interface, std::uint32_t command) {
  ethtool_value question{.cmd = command, .data = 0};
  if (!ask(socket, interface, &question)) return std::nullopt;
  return question.data;
}

}  // namespace

std::optional<Offloads> read_offloads(const std::string& interface) {
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return std::nullopt;
  const auto flags = value(socket.get(), interface, ETHTOOL_GFLAGS);
  const auto gro = value(socket.get(), interface, ETHTOOL_GGRO);
  if (!flags || !gro) return std::nullopt;
  Offloads offloads;
  offloads.receive_vlan = (*flags & ETH_FLAG_RXVLAN) != 0;
  offloads.lro = (*flags & ETH_FLAG_LRO) != 0;
  offloads.gro = *gro != 0;
  ethtool_drvinfo driver{};
  driver.cmd = ETHTOOL_GDRVINFO;
  if (ask(socket.get(), interface, &driver)) offloads.driver = static_cast<const char*>(driver.driver);
  return offloads;
}

}  // namespace weft::dataplane
