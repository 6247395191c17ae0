#include "testbed/rc/driver/port_guard.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "agent/roce/headers.h"

namespace weft::rc {

Result<PortGuard> PortGuard::open() {
  UniqueFd fd(socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) return fail_errno("cannot open a UDP socket", "port guard", "IPv6 must not be disabled");
  sock_filter drop_all = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog program{.len = 1, .filter = &drop_all};
  const int both_families = 0;
  if (setsockopt(fd.get(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0 ||
      setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &both_families, sizeof both_families) != 0) {
    return fail_errno("cannot prepare the UDP socket", "port guard");
  }
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(roce::kRoceUdpPort);
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0) {
    return fail_errno("cannot bind UDP port 4791", "port guard",
                      "another weft-roce, or rdma_rxe, in this network namespace?");
  }
  return PortGuard(std::move(fd));
}

}  // namespace weft::rc
