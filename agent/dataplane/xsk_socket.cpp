#include "agent/dataplane/xsk_socket.h"

#include <cerrno>
#include <chrono>
#include <thread>

#include <net/if.h>
#include <sys/mman.h>
#include <sys/socket.h>

namespace weft::dataplane {
namespace {

// Sent frames count against the socket's send buffer until the receiver's stack or the NIC has freed them. The
// default of 208 KiB is about a hundred frames; the transmit ring is the limit that should bind.
constexpr int kSendBufferBytes = 32 << 20;

// The queue of a socket that was just closed is released by a kernel worker.
constexpr auto kBusyPatience = std::chrono::seconds(2);
constexpr auto kBusyPause = std::chrono::milliseconds(10);

Status set_option(int fd, int option, const void* value, socklen_t size, const char* what) {
  if (::setsockopt(fd, SOL_XDP, option, value, size) == 0) return {};
  return fail_errno(std::string("AF_XDP: cannot set ") + what);
}

int bind_patiently(int fd, const sockaddr_xdp& address) {
  const auto give_up = std::chrono::steady_clock::now() + kBusyPatience;
  for (;;) {
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return 0;
    if (errno != EBUSY || std::chrono::steady_clock::now() > give_up) return errno;
    std::this_thread::sleep_for(kBusyPause);
  }
}

}  // namespace

XskSocket::~XskSocket() {
  for (const Mapping& mapping : mappings_) {
    ::munmap(mapping.address, mapping.size_bytes);
  }
}

Result<XskSocket> XskSocket::open(const XskOptions& options, const Umem& umem, const XskSocket* sharing) {
  XskSocket xsk;
  const std::string where = options.interface + " queue " + std::to_string(options.queue);
  xsk.fd_.reset(::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0));
  if (!xsk.fd_)
    return fail_errno("cannot open an AF_XDP socket", where, "needs CAP_NET_RAW and CONFIG_XDP_SOCKETS");
  if (sharing == nullptr) {
    if (auto done = xsk.register_umem(umem); !done) return fail(done.error());
  }
  if (auto done = xsk.create_rings(); !done) return fail(done.error());
  // Without CAP_NET_ADMIN the unforced option is capped by the system's limit, which still works.
  if (::setsockopt(xsk.fd(), SOL_SOCKET, SO_SNDBUFFORCE, &kSendBufferBytes, sizeof(kSendBufferBytes)) != 0) {
    ::setsockopt(xsk.fd(), SOL_SOCKET, SO_SNDBUF, &kSendBufferBytes, sizeof(kSendBufferBytes));
  }

  sockaddr_xdp address{};
  address.sxdp_family = AF_XDP;
  address.sxdp_ifindex = ::if_nametoindex(options.interface.c_str());
  address.sxdp_queue_id = options.queue;
  if (sharing != nullptr) {
    // The kernel takes mode and flags from the socket that registered the UMEM.
    address.sxdp_flags = XDP_SHARED_UMEM;
    address.sxdp_shared_umem_fd = static_cast<__u32>(sharing->fd());
  } else {
    address.sxdp_flags = XDP_COPY | XDP_USE_NEED_WAKEUP;
    if (options.scatter_gather) address.sxdp_flags |= XDP_USE_SG;
  }
  if (const int error = bind_patiently(xsk.fd(), address); error != 0) {
    errno = error;
    return fail_errno("cannot bind an AF_XDP socket", where,
                      error == EBUSY ? "another program receives from this queue" : "");
  }
  return xsk;
}

Status XskSocket::register_umem(const Umem& umem) {
  xdp_umem_reg registration{};
  registration.addr = reinterpret_cast<std::uintptr_t>(umem.bytes().data());
  registration.len = umem.bytes().size();
  registration.chunk_size = kChunkBytes;
  auto done = set_option(fd(), XDP_UMEM_REG, &registration, sizeof(registration), "the frame memory");
  if (!done) done.error().hint = "the memory is pinned: raise LimitMEMLOCK or grant CAP_IPC_LOCK";
  return done;
}

template <class Entry>
Result<RingMemory<Entry>> XskSocket::map_ring(const xdp_ring_offset& offsets, std::uint64_t page_offset,
                                              std::uint32_t entries) {
  const std::size_t size_bytes = offsets.desc + std::size_t{entries} * sizeof(Entry);
  void* address = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd(),
                         static_cast<off_t>(page_offset));
  if (address == MAP_FAILED) return fail_errno("AF_XDP: cannot map a ring");
  mappings_.push_back({address, size_bytes});
  auto* base = static_cast<std::uint8_t*>(address);
  return RingMemory<Entry>{reinterpret_cast<std::uint32_t*>(base + offsets.producer),
                           reinterpret_cast<std::uint32_t*>(base + offsets.consumer),
                           reinterpret_cast<std::uint32_t*>(base + offsets.flags),
                           reinterpret_cast<Entry*>(base + offsets.desc), entries};
}

Status XskSocket::create_rings() {
  const struct {
    int option;
    std::uint32_t entries;
    const char* what;
  } sizes[] = {
      {XDP_UMEM_FILL_RING, kFillRingEntries, "the fill ring"},
      {XDP_UMEM_COMPLETION_RING, kCompletionRingEntries, "the completion ring"},
      {XDP_RX_RING, kRxRingEntries, "the receive ring"},
      {XDP_TX_RING, kTxRingEntries, "the transmit ring"},
  };
  for (const auto& size : sizes) {
    if (auto done = set_option(fd(), size.option, &size.entries, sizeof(size.entries), size.what); !done)
      return done;
  }
  xdp_mmap_offsets offsets{};
  socklen_t offsets_bytes = sizeof(offsets);
  if (::getsockopt(fd(), SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &offsets_bytes) != 0) {
    return fail_errno("AF_XDP: cannot get the rings' layout");
  }
  auto fill = map_ring<std::uint64_t>(offsets.fr, XDP_UMEM_PGOFF_FILL_RING, kFillRingEntries);
  auto completion =
      map_ring<std::uint64_t>(offsets.cr, XDP_UMEM_PGOFF_COMPLETION_RING, kCompletionRingEntries);
  auto rx = map_ring<xdp_desc>(offsets.rx, XDP_PGOFF_RX_RING, kRxRingEntries);
  auto tx = map_ring<xdp_desc>(offsets.tx, XDP_PGOFF_TX_RING, kTxRingEntries);
  if (!fill) return weft::fail(fill.error());
  if (!completion) return weft::fail(completion.error());
  if (!rx) return weft::fail(rx.error());
  if (!tx) return weft::fail(tx.error());
  fill_ = ProducerRing<std::uint64_t>(*fill);
  completion_ = ConsumerRing<std::uint64_t>(*completion);
  rx_ = ConsumerRing<xdp_desc>(*rx);
  tx_ = ProducerRing<xdp_desc>(*tx);
  return {};
}

bool XskSocket::kick_transmit() {
  // In copy mode one call sends a few dozen frames and says EAGAIN when more wait. EBUSY and ENOBUFS are the
  // same answer from a driver or qdisc under pressure, ENETDOWN from an interface that is down.
  if (::sendto(fd(), nullptr, 0, MSG_DONTWAIT, nullptr, 0) >= 0) return tx_.outstanding() > 0;
  return errno == EAGAIN || errno == EBUSY || errno == ENOBUFS || errno == EINTR;
}

void XskSocket::kick_receive() { ::recvfrom(fd(), nullptr, 0, MSG_DONTWAIT, nullptr, nullptr); }

Result<XskStatistics> XskSocket::statistics() const {
  xdp_statistics raw{};
  socklen_t size = sizeof(raw);
  if (::getsockopt(fd(), SOL_XDP, XDP_STATISTICS, &raw, &size) != 0) {
    return fail_errno("AF_XDP: cannot read the statistics");
  }
  return XskStatistics{raw.rx_dropped,       raw.rx_ring_full,     raw.rx_fill_ring_empty_descs,
                       raw.rx_invalid_descs, raw.tx_invalid_descs, raw.tx_ring_empty_descs};
}

}  // namespace weft::dataplane
