// A network namespace of this thread's own, for tests that need devices. It is gone with the thread.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "agent/base/bytes.h"
#include "agent/base/unique_fd.h"

namespace weft::test {

// Enters the namespace, with /sys showing it; false when the machine does not allow that.
[[nodiscard]] bool enter_private_network();

// Two veth pairs a0 - lan0 and b0 - wan0 with as many queues each, all up, lan0 and wan0 in one bridge.
void make_gateway_links(unsigned queues);

// A packet socket on a device, for whole frames.
UniqueFd open_link(const std::string& device);
void send_frame(const UniqueFd& link, const Bytes& frame);

}  // namespace weft::test
