#include "agent/roce/ip_address.h"

#include <algorithm>
#include <charconv>

#include <arpa/inet.h>
#include <fmt/format.h>

namespace weft::roce {

IpAddress IpAddress::from_ipv4(const std::uint8_t* four_bytes) {
  IpAddress address;
  std::copy_n(four_bytes, 4, address.bytes.begin());
  return address;
}

IpAddress IpAddress::from_ipv6(const std::uint8_t* sixteen_bytes) {
  IpAddress address;
  address.ipv6 = true;
  std::copy_n(sixteen_bytes, 16, address.bytes.begin());
  return address;
}

Result<IpAddress> IpAddress::parse(std::string_view text) {
  const std::string owned(text);
  IpAddress address;
  if (inet_pton(AF_INET, owned.c_str(), address.bytes.data()) == 1) return address;
  address.ipv6 = true;
  if (inet_pton(AF_INET6, owned.c_str(), address.bytes.data()) == 1) return address;
  return fail(fmt::format("'{}' is not an IP address", text), {}, "write it like 10.0.0.2 or fd00::2");
}

std::string IpAddress::to_string() const {
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(ipv6 ? AF_INET6 : AF_INET, bytes.data(), text, sizeof text);
  return text;
}

Result<IpPrefix> IpPrefix::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  auto base = IpAddress::parse(text.substr(0, slash));
  if (!base) return fail(base.error());
  IpPrefix prefix{*base, base->ipv6 ? 128U : 32U};
  if (slash != std::string_view::npos) {
    const std::string_view digits = text.substr(slash + 1);
    const unsigned longest = prefix.length_bits;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), prefix.length_bits);
    if (error != std::errc{} || end != digits.data() + digits.size() || prefix.length_bits > longest) {
      return fail(fmt::format("'{}' is not a prefix", text), {},
                  fmt::format("its length is 0 to {}", longest));
    }
  }
  for (unsigned bit = prefix.length_bits; bit < (base->ipv6 ? 128U : 32U); ++bit) {
    if ((base->bytes[bit / 8] >> (7 - bit % 8) & 1) != 0) {
      return fail(fmt::format("'{}' has bits set beyond its length", text), {},
                  "give the network's address, for instance 10.2.0.0/16");
    }
  }
  return prefix;
}

bool IpPrefix::contains(const IpAddress& address) const {
  if (address.ipv6 != base.ipv6) return false;
  for (unsigned bit = 0; bit < length_bits; ++bit) {
    const unsigned shift = 7 - bit % 8;
    if (((address.bytes[bit / 8] ^ base.bytes[bit / 8]) >> shift & 1) != 0) return false;
  }
  return true;
}

std::string IpPrefix::to_string() const { return fmt::format("{}/{}", base.to_string(), length_bits); }

}  // namespace weft::roce
