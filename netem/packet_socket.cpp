#include "netem/packet_socket.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "agent/base/bytes.h"
#include "agent/base/clock.h"
#include "agent/roce/headers.h"

namespace weft::netem {
namespace {

// Half a second of 60000 small frames a second, at the 2304 bytes a 1100-byte frame is charged: the longest a
// busy machine is expected to keep this process from running, several times over.
constexpr int kReceiveBufferBytes = 64 << 20;
constexpr std::size_t kMacAddressesBytes = 12;

// Room for the two control messages asked for: receive time and VLAN tag.
constexpr std::size_t kControlBytes = CMSG_SPACE(sizeof(timespec)) + CMSG_SPACE(sizeof(tpacket_auxdata));

Status set_option(int fd, int level, int name, int value, const std::string& interface, const char* what) {
  if (setsockopt(fd, level, name, &value, sizeof value) == 0) return {};
  return fail_errno(what, interface, "Linux 4.20 or newer is needed");
}

// Puts the tag the kernel took out back behind the addresses.
void restore_vlan_tag(const tpacket_auxdata& auxiliary, PacketSocket::Received& frame) {
  if ((auxiliary.tp_status & TP_STATUS_VLAN_VALID) == 0 || frame.frame_bytes < kMacAddressesBytes) return;
  const std::uint16_t tpid =
      (auxiliary.tp_status & TP_STATUS_VLAN_TPID_VALID) != 0 ? auxiliary.tp_vlan_tpid : ETH_P_8021Q;
  std::memmove(frame.data - roce::kVlanTagBytes, frame.data, kMacAddressesBytes);
  frame.data -= roce::kVlanTagBytes;
  frame.frame_bytes += roce::kVlanTagBytes;
  store_be16(frame.data + kMacAddressesBytes, tpid);
  store_be16(frame.data + kMacAddressesBytes + 2, auxiliary.tp_vlan_tci);
}

}  // namespace

Result<PacketSocket> PacketSocket::open(const std::string& interface) {
  UniqueFd fd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail_errno("cannot open a packet socket", interface, "run as root, or with CAP_NET_RAW");
  PacketSocket opened(std::move(fd), interface);
  if (Status configured = opened.configure(); !configured) return fail(configured.error());
  return opened;
}

Status PacketSocket::configure() {
  const unsigned index = if_nametoindex(interface_.c_str());
  if (index == 0) return fail_errno("no such interface", interface_, "ip link lists them");
  ifreq request{};
  interface_.copy(request.ifr_name, IFNAMSIZ - 1);
  if (ioctl(fd(), SIOCGIFMTU, &request) != 0) return fail_errno("cannot read the MTU", interface_);
  mtu_bytes_ = static_cast<std::size_t>(request.ifr_mtu);
  if (ioctl(fd(), SIOCGIFHWADDR, &request) != 0) return fail_errno("cannot read the MAC address", interface_);
  std::memcpy(mac_address_.data(), request.ifr_hwaddr.sa_data, mac_address_.size());

  // SO_RCVBUFFORCE needs CAP_NET_ADMIN; without it the default stays, and drops are counted.
  setsockopt(fd(), SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBufferBytes, sizeof kReceiveBufferBytes);
  setsockopt(fd(), SOL_SOCKET, SO_SNDBUFFORCE, &kReceiveBufferBytes, sizeof kReceiveBufferBytes);
  if (Status set = set_option(fd(), SOL_PACKET, PACKET_IGNORE_OUTGOING, 1, interface_,
                              "cannot ignore outgoing frames");
      !set) {
    return set;
  }
  if (Status set = set_option(fd(), SOL_PACKET, PACKET_AUXDATA, 1, interface_, "cannot ask for VLAN tags");
      !set)
    return set;
  if (Status set =
          set_option(fd(), SOL_SOCKET, SO_TIMESTAMPNS, 1, interface_, "cannot ask for receive times");
      !set)
    return set;

  packet_mreq promiscuous{};
  promiscuous.mr_ifindex = static_cast<int>(index);
  promiscuous.mr_type = PACKET_MR_PROMISC;
  if (setsockopt(fd(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous, sizeof promiscuous) != 0)
    return fail_errno("cannot make the interface promiscuous", interface_);

  const Result<std::uint64_t> tx_dropped = interface_tx_dropped();
  if (!tx_dropped) return fail(tx_dropped.error());
  tx_dropped_at_open_ = *tx_dropped;

  // Last, since from here on frames arrive.
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(index);
  if (bind(fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return fail_errno("cannot bind the packet socket", interface_);
  return {};
}

Result<std::size_t> PacketSocket::receive(std::span<const Buffer> buffers, std::span<Received> frames) {
  std::array<mmsghdr, kBatch> messages{};
  std::array<iovec, kBatch> pieces{};
  alignas(cmsghdr) std::array<std::array<std::uint8_t, kControlBytes>, kBatch> control;
  const std::size_t wanted = std::min({buffers.size(), frames.size(), kBatch});
  for (std::size_t i = 0; i < wanted; ++i) {
    pieces[i] = {buffers[i].data, buffers[i].room_bytes};
    messages[i].msg_hdr.msg_iov = &pieces[i];
    messages[i].msg_hdr.msg_iovlen = 1;
    messages[i].msg_hdr.msg_control = control[i].data();
    messages[i].msg_hdr.msg_controllen = kControlBytes;
  }
  const int received = recvmmsg(fd(), messages.data(), static_cast<unsigned>(wanted), MSG_DONTWAIT, nullptr);
  if (received < 0) {
    if (errno == EAGAIN || errno == EINTR) return 0;
    return fail_errno("cannot receive", interface_, "is the interface still up?");
  }
  // The kernel's receive time is wall-clock time; the difference is taken each time, since that clock is set.
  const Nanoseconds now = monotonic_now();
  const Nanoseconds wall_ahead = clock_now(CLOCK_REALTIME) - now;
  for (std::size_t i = 0; i < static_cast<std::size_t>(received); ++i) {
    msghdr& header = messages[i].msg_hdr;
    Received& frame = frames[i];
    frame = {.data = buffers[i].data,
             .frame_bytes = messages[i].msg_len,
             .at = now,
             .complete = (header.msg_flags & MSG_TRUNC) == 0};
    for (cmsghdr* item = CMSG_FIRSTHDR(&header); item != nullptr; item = CMSG_NXTHDR(&header, item)) {
      if (item->cmsg_level == SOL_SOCKET && item->cmsg_type == SCM_TIMESTAMPNS) {
        timespec at{};
        std::memcpy(&at, CMSG_DATA(item), sizeof at);
        frame.at = std::min(to_nanoseconds(at) - wall_ahead, now);
      } else if (item->cmsg_level == SOL_PACKET && item->cmsg_type == PACKET_AUXDATA) {
        tpacket_auxdata auxiliary{};
        std::memcpy(&auxiliary, CMSG_DATA(item), sizeof auxiliary);
        restore_vlan_tag(auxiliary, frame);
      }
    }
  }
  return static_cast<std::size_t>(received);
}

Result<PacketSocket::Sent> PacketSocket::send(std::span<const std::span<const std::uint8_t>> frames) {
  std::array<mmsghdr, kBatch> messages{};
  std::array<iovec, kBatch> pieces{};
  Sent result;
  while (result.frames < frames.size()) {
    const auto batch = frames.subspan(result.frames, std::min(frames.size() - result.frames, kBatch));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      // iovec has no const form; sendmmsg only reads.
      pieces[i] = {const_cast<std::uint8_t*>(batch[i].data()), batch[i].size()};
      messages[i].msg_hdr.msg_iov = &pieces[i];
      messages[i].msg_hdr.msg_iovlen = 1;
    }
    const int sent = sendmmsg(fd(), messages.data(), static_cast<unsigned>(batch.size()), MSG_DONTWAIT);
    if (sent >= 0) {
      result.frames += static_cast<std::size_t>(sent);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == ENOBUFS) return result;
    if (errno == EMSGSIZE) {
      result.too_long = true;
      return result;
    }
    return fail_errno("cannot send", interface_, "is the interface still up?");
  }
  return result;
}

PacketSocket::Drops PacketSocket::drops() {
  tpacket_stats statistics{};
  socklen_t size = sizeof statistics;
  if (getsockopt(fd(), SOL_PACKET, PACKET_STATISTICS, &statistics, &size) == 0)
    rx_dropped_ += statistics.tp_drops;
  const std::uint64_t tx_dropped = interface_tx_dropped().value_or(tx_dropped_at_open_);
  return {rx_dropped_, tx_dropped - tx_dropped_at_open_};
}

// By getifaddrs rather than sysfs, which may be mounted for another network namespace.
Result<std::uint64_t> PacketSocket::interface_tx_dropped() const {
  ifaddrs* addresses = nullptr;
  if (getifaddrs(&addresses) != 0) return fail_errno("cannot read interface statistics", interface_);
  std::uint64_t tx_dropped = 0;
  for (const ifaddrs* entry = addresses; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_PACKET ||
        interface_ != entry->ifa_name)
      continue;
    if (entry->ifa_data != nullptr)
      tx_dropped = static_cast<const rtnl_link_stats*>(entry->ifa_data)->tx_dropped;
  }
  freeifaddrs(addresses);
  return tx_dropped;
}

}  // namespace weft::netem
