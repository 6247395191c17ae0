// An IPv4 or IPv6 address as a value that hashes and compares; no sockets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "agent/base/bytes.h"
#include "agent/base/result.h"

namespace weft::roce {

struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};  // IPv4 in the first four, the rest zero
  bool ipv6 = false;

  static IpAddress from_ipv4(const std::uint8_t* four_bytes);
  static IpAddress from_ipv6(const std::uint8_t* sixteen_bytes);
  static Result<IpAddress> parse(std::string_view text);

  ByteView view() const { return ByteView(bytes).first(ipv6 ? 16 : 4); }
  std::string to_string() const;
  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;
};

// "10.2.0.0/16", "fd00:2::/48". Host bits must be zero, so that a typing mistake is seen.
struct IpPrefix {
  IpAddress base;
  unsigned length_bits = 0;

  static Result<IpPrefix> parse(std::string_view text);
  bool contains(const IpAddress& address) const;
  std::string to_string() const;
};

}  // namespace weft::roce

template <>
struct std::hash<weft::roce::IpAddress> {
  std::size_t operator()(const weft::roce::IpAddress& address) const noexcept {
    std::size_t h = address.ipv6 ? 0x9e3779b97f4a7c15U : 0;
    for (std::size_t i = 0; i < 16; i += 4) {
      h = (h ^ weft::load_be32(address.bytes.data() + i)) * 0xff51afd7ed558ccdU;
      h ^= h >> 32;
    }
    return h;
  }
};
