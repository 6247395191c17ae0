#include "agent/recovery/path_headers.h"

#include "agent/roce/builder.h"

namespace weft::recovery {
namespace {

// Sum of 16-bit big-endian words (RFC 1071), unfolded. Words of eight bytes at a time in memory order: the
// ones' complement sum does not mind the byte order as long as it is swapped back once.
std::uint64_t ones_complement_sum(ByteView bytes) {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  const auto add = [&](std::size_t at, std::size_t count) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, count);
    low += word & UINT32_MAX;
    high += word >> 32;
  };
  constexpr std::size_t kAtOnce = sizeof(std::uint64_t);
  std::size_t i = 0;
  for (; i + kAtOnce <= bytes.size(); i += kAtOnce)
    add(i, kAtOnce);
  add(i, bytes.size() - i);
  return low + high;
}

std::uint16_t fold(std::uint64_t sum) {
  while (sum > 0xffff)
    sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}

// The checksum field's two bytes in memory order, so that the whole sums to 0xffff.
void store_udp_checksum(std::uint8_t* udp, ByteView addresses, std::size_t udp_bytes) {
  std::memset(udp + 6, 0, 2);
  std::array<std::uint8_t, 8> pseudo{};
  store_be32(pseudo.data(), static_cast<std::uint32_t>(udp_bytes));
  pseudo[7] = roce::kIpProtocolUdp;
  const std::uint64_t sum = ones_complement_sum(addresses) + ones_complement_sum(pseudo) +
                            ones_complement_sum(ByteView(udp, udp_bytes));
  auto checksum = static_cast<std::uint16_t>(~fold(sum));
  if (checksum == 0) checksum = 0xffff;  // RFC 768: zero would mean "none"
  std::memcpy(udp + 6, &checksum, 2);
}

}  // namespace

void PathHeaders::finish_frame(MutableByteView frame, std::uint16_t udp_destination_port,
                               std::uint16_t ip_id) const {
  std::memcpy(frame.data(), bytes_.data(), bytes_used_);
  std::uint8_t* ip = frame.data() + l3_offset_;
  std::uint8_t* udp = frame.data() + bytes_used_ - roce::kUdpBytes;
  const std::size_t udp_bytes = frame.size() - bytes_used_ + roce::kUdpBytes;
  store_be16(udp + 2, udp_destination_port);
  store_be16(udp + 4, static_cast<std::uint16_t>(udp_bytes));
  if (ipv6_) {
    store_be16(ip + 4, static_cast<std::uint16_t>(udp_bytes));
    // The traffic class straddles two bytes.
    ip[1] = static_cast<std::uint8_t>(ip[1] & ~(roce::kEcnMask << 4));
    store_udp_checksum(udp, ByteView(ip + 8, 32), udp_bytes);
  } else {
    ip[1] = static_cast<std::uint8_t>(ip[1] & ~roce::kEcnMask);
    store_be16(ip + 2, static_cast<std::uint16_t>(udp_bytes + roce::kIpv4Bytes));
    store_be16(ip + 4, ip_id);
    store_be16(ip + 6, roce::kIpv4DontFragment);
    roce::fix_ipv4_checksum(ip);
    store_udp_checksum(udp, ByteView(ip + 12, 8), udp_bytes);
  }
}

}  // namespace weft::recovery
