#include "tests/bpf/private_network.h"

#include <cstdlib>

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>

namespace weft::test {

bool enter_private_network() {
  return ::unshare(CLONE_NEWNET | CLONE_NEWNS) == 0 &&
         ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("weft-test", "/sys", "sysfs", 0, nullptr) == 0;
}

void make_gateway_links(unsigned queues) {
  const std::string count =
      " numrxqueues " + std::to_string(queues) + " numtxqueues " + std::to_string(queues);
  const std::string script =
      "set -e; ip link add br0 type bridge forward_delay 0; for pair in 'a0 lan0' 'b0 wan0'; do set -- "
      "$pair; "
      "ip link add $1" +
      count + " type veth peer name $2" + count +
      "; ip link set $2 master br0; ip link set $1 up; ip link set $2 up; done; ip link set br0 up";
  ASSERT_EQ(std::system(script.c_str()), 0);
}

UniqueFd open_link(const std::string& device) {
  UniqueFd link(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETH_P_ALL)));
  constexpr int kReceiveBytes = 64 << 20;  // a test reads when it has sent everything
  ::setsockopt(link.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBytes, sizeof(kReceiveBytes));
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(::if_nametoindex(device.c_str()));
  EXPECT_EQ(::bind(link.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0) << device;
  return link;
}

void send_frame(const UniqueFd& link, const Bytes& frame) {
  ASSERT_EQ(::send(link.get(), frame.data(), frame.size(), 0), static_cast<ssize_t>(frame.size()));
}

}  // namespace weft::test
