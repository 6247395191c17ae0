// Where packets of tests go from and to.
#pragma once

#include "agent/roce/builder.h"

namespace weft::test {

inline roce::IpAddress address_at_a(bool ipv6) {
  return roce::IpAddress::parse(ipv6 ? "fd00:1::2" : "10.1.0.2").value();
}

inline roce::IpAddress address_at_b(bool ipv6) {
  return roce::IpAddress::parse(ipv6 ? "fd00:2::2" : "10.2.0.2").value();
}

inline roce::PacketPath path_from_a_to_b(bool ipv6) {
  roce::PacketPath path;
  path.src = address_at_a(ipv6);
  path.dst = address_at_b(ipv6);
  return path;
}

}  // namespace weft::test
