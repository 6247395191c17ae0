#include "testbed/rc/payload.h"

#include <algorithm>
#include <cstring>

#include "agent/base/rng.h"

namespace weft::rc {
namespace {

constexpr std::uint32_t kTableBytes = 65521;  // the largest prime below 2^16: fits a second-level cache
constexpr std::uint32_t kMessageStride =
    9973;  // prime: a QP's messages start at kTableBytes different places

// Any byte but zero and poison.
std::uint8_t pattern_byte(Rng& rng) {
  const auto byte = static_cast<std::uint8_t>(1 + rng.below(254));
  return byte == kPoison ? std::uint8_t{255} : byte;
}

// Appends a zero byte's position to the runs.
void add_zero(std::vector<ByteRange>& runs, std::uint64_t offset) {
  if (!runs.empty() && runs.back().offset_bytes + runs.back().length_bytes == offset) {
    ++runs.back().length_bytes;
  } else {
    runs.push_back({offset, 1});
  }
}

}  // namespace

PayloadPattern::PayloadPattern(std::uint64_t key) : table_(kTableBytes + Payload::kLargestView) {
  Rng rng(key);
  std::generate_n(table_.begin(), kTableBytes, [&] { return pattern_byte(rng); });
  std::copy_n(table_.begin(), Payload::kLargestView, table_.begin() + kTableBytes);
}

Payload PayloadPattern::message(std::uint32_t qpn, std::uint64_t message) const {
  const std::uint64_t qp_start = Rng::stream(qpn, 0).below(kTableBytes);
  return {this,
          static_cast<std::uint32_t>((qp_start + message % kTableBytes * kMessageStride) % kTableBytes)};
}

ByteView Payload::at(std::uint64_t offset, std::size_t bytes) const {
  return ByteView(pattern_->table_).subspan((start_ + offset) % kTableBytes, bytes);
}

PayloadCheck check_payload(const Payload& sent, ByteView delivered) {
  PayloadCheck check;
  for (std::size_t offset = 0; offset < delivered.size(); offset += Payload::kLargestView) {
    const std::size_t bytes = std::min(Payload::kLargestView, delivered.size() - offset);
    const std::uint8_t* expected = sent.at(offset, bytes).data();
    const std::uint8_t* found = delivered.data() + offset;
    if (std::memcmp(expected, found, bytes) == 0) continue;
    for (std::size_t i = 0; i < bytes; ++i) {
      if (found[i] == expected[i]) continue;
      if (found[i] == 0) {
        add_zero(check.zero_runs, offset + i);
      } else {
        ++check.corrupt_bytes;
      }
    }
  }
  return check;
}

void write_payload(const Payload& payload, MutableByteView out) {
  for (std::size_t offset = 0; offset < out.size(); offset += Payload::kLargestView) {
    const std::size_t bytes = std::min(Payload::kLargestView, out.size() - offset);
    std::memcpy(out.data() + offset, payload.at(offset, bytes).data(), bytes);
  }
}

}  // namespace weft::rc
