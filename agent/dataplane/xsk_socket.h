// One AF_XDP socket: a receive queue of an interface with its four rings, in copy mode. The first socket of a
// process registers the UMEM; the others share it and have their own fill and completion rings, as the kernel
// requires for another device or queue.
//
// Copy mode because it works on every driver and leaves the queue's other traffic to the kernel: zero-copy takes
// the whole queue away, and a shared UMEM was corrupted by it until 2022. Copying costs one memcpy per frame;
// packet handling in the kernel costs several times that.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/base/unique_fd.h"
#include "agent/dataplane/ring.h"
#include "agent/dataplane/umem.h"

namespace weft::dataplane {

// Receive ring: what can arrive while the worker is off the CPU; 2048 frames of 1100 B are 2 ms at 9 Gbit/s.
inline constexpr std::uint32_t kRxRingEntries = 2048;
inline constexpr std::uint32_t kTxRingEntries = 2048;
// Twice the receive ring, so that drivers that take fill entries ahead of packets never find it empty.
inline constexpr std::uint32_t kFillRingEntries = 2 * kRxRingEntries;
inline constexpr std::uint32_t kCompletionRingEntries = kTxRingEntries;

struct XskOptions {
  std::string interface;
  std::uint32_t queue = 0;
  bool scatter_gather = true;  // the kernel knows XDP_USE_SG
};

// XDP_STATISTICS: losses the kernel counts for this socket since it was opened.
struct XskStatistics {
  std::uint64_t rx_dropped = 0;  // for other reasons than a full ring: too large, no chunk
  std::uint64_t rx_ring_full = 0;
  std::uint64_t rx_fill_ring_empty = 0;
  std::uint64_t rx_invalid_descriptors = 0;
  std::uint64_t tx_invalid_descriptors = 0;
  std::uint64_t tx_ring_empty = 0;
};

class XskSocket {
 public:
  // `sharing`: an open socket whose UMEM to share, else `umem` is registered. Waits up to two seconds while the
  // queue is still being torn down by its last user (EBUSY).
  static Result<XskSocket> open(const XskOptions& options, const Umem& umem, const XskSocket* sharing);

  XskSocket(XskSocket&&) noexcept = default;
  XskSocket& operator=(XskSocket&&) noexcept = default;
  ~XskSocket();

  int fd() const { return fd_.get(); }
  ProducerRing<std::uint64_t>& fill() { return fill_; }
  ConsumerRing<std::uint64_t>& completion() { return completion_; }
  ConsumerRing<xdp_desc>& rx() { return rx_; }
  ProducerRing<xdp_desc>& tx() { return tx_; }

  // Asks the kernel to work on the transmit ring. True when it may have left entries there.
  bool kick_transmit();
  // Asks the driver to look at the fill ring again.
  void kick_receive();
  Result<XskStatistics> statistics() const;

 private:
  struct Mapping {
    void* address = nullptr;
    std::size_t size_bytes = 0;
  };
  XskSocket() = default;
  Status register_umem(const Umem& umem);
  Status create_rings();
  template <class Entry>
  Result<RingMemory<Entry>> map_ring(const xdp_ring_offset& offsets, std::uint64_t page_offset,
                                     std::uint32_t entries);

  UniqueFd fd_;
  std::vector<Mapping> mappings_;
  ProducerRing<std::uint64_t> fill_;
  ConsumerRing<std::uint64_t> completion_;
  ConsumerRing<xdp_desc> rx_;
  ProducerRing<xdp_desc> tx_;
};

}  // namespace weft::dataplane
