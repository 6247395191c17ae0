// An AF_PACKET socket on one interface: whole Ethernet frames in and out, in batches, with the kernel's
// receive time. The interface is made promiscuous while the socket is open. Not thread-safe.
//
// The kernel takes the outermost VLAN tag out of a received frame; receive() puts it back, which is why a
// buffer needs kVlanTagBytes of room in front.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "agent/base/result.h"
#include "agent/base/unique_fd.h"
#include "agent/base/units.h"

namespace weft::netem {

class PacketSocket {
 public:
  static constexpr std::size_t kBatch = 64;  // frames per system call: enough to make the call's cost small
  static constexpr std::size_t kHeadroomBytes = 4;

  struct Buffer {
    std::uint8_t* data = nullptr;  // kHeadroomBytes are writable in front of it
    std::size_t room_bytes = 0;
  };
  struct Received {
    std::uint8_t* data = nullptr;  // within its buffer, possibly in the headroom
    std::size_t frame_bytes = 0;
    Nanoseconds at{0};     // CLOCK_MONOTONIC, when the kernel got it
    bool complete = true;  // false: the frame was longer than its buffer
  };

  static Result<PacketSocket> open(const std::string& interface);

  // Receives up to min(buffers, kBatch) frames without waiting; frame i is in buffer i.
  Result<std::size_t> receive(std::span<const Buffer> buffers, std::span<Received> frames);

  // Sends frames in order. Returns how many were sent: fewer than given while the interface's queue is
  // full, or when the next frame is longer than its MTU (`too_long` is then set).
  struct Sent {
    std::size_t frames = 0;
    bool too_long = false;
  };
  Result<Sent> send(std::span<const std::span<const std::uint8_t>> frames);

  int fd() const { return fd_.get(); }
  const std::string& interface() const { return interface_; }
  std::size_t mtu_bytes() const { return mtu_bytes_; }
  const std::array<std::uint8_t, 6>& mac_address() const { return mac_address_; }

  // Frames the kernel has dropped since open(): in front of this socket, and behind the interface on the way
  // out (a full veth ring).
  struct Drops {
    std::uint64_t received = 0;
    std::uint64_t transmitted = 0;
  };
  Drops drops();

 private:
  PacketSocket(UniqueFd fd, std::string interface) : fd_(std::move(fd)), interface_(std::move(interface)) {}
  Status configure();
  Result<std::uint64_t> interface_tx_dropped() const;

  UniqueFd fd_;
  std::string interface_;
  std::size_t mtu_bytes_ = 0;
  std::array<std::uint8_t, 6> mac_address_{};
  std::uint64_t tx_dropped_at_open_ = 0;
  std::uint64_t rx_dropped_ = 0;  // PACKET_STATISTICS resets itself when read
};

}  // namespace weft::netem
