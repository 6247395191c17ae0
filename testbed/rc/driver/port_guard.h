// Keeps the kernel from answering RoCE frames: to it they are UDP to a closed port, and it would send ICMP
// errors to the peer.
#pragma once

#include "agent/base/result.h"

namespace weft::rc {

// Owns UDP port 4791 of this network namespace, for IPv4 and IPv6, and drops all that comes to it.
class PortGuard {
 public:
  static Result<PortGuard> open();
  PortGuard(PortGuard&& other) noexcept;
  PortGuard& operator=(PortGuard&&) = delete;
  ~PortGuard();

 private:
  explicit PortGuard(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace weft::rc
