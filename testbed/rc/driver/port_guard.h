// Keeps the kernel from answering RoCE frames: to it they are UDP to a closed port, and it would send ICMP
// errors to the peer.
#pragma once

#include <utility>

#include "agent/base/result.h"
#include "agent/base/unique_fd.h"

namespace weft::rc {

// Owns UDP port 4791 of this network namespace, for IPv4 and IPv6, and drops all that comes to it.
class PortGuard {
 public:
  static Result<PortGuard> open();

 private:
  explicit PortGuard(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace weft::rc
