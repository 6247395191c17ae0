#include "testbed/rc/payload.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace weft::rc {
namespace {

constexpr std::uint32_t kQpn = 0x22;

Bytes message_bytes(const PayloadPattern& pattern, std::uint64_t message, std::size_t bytes) {
  Bytes out(bytes);
  write_payload(pattern.message(kQpn, message), out);
  return out;
}

TEST(Payload, HoldsNeitherZeroNorPoison) {
  const PayloadPattern pattern(1);
  const Bytes bytes = message_bytes(pattern, 0, 200'000);
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), std::uint8_t{0}), 0);
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), kPoison), 0);
}

TEST(Payload, DependsOnKeyQueuePairMessageAndOffset) {
  const PayloadPattern pattern(1);
  const PayloadPattern other_key(2);
  const Bytes base = message_bytes(pattern, 0, 4096);
  EXPECT_NE(base, message_bytes(other_key, 0, 4096));
  EXPECT_NE(base, message_bytes(pattern, 1, 4096));
  Bytes other_qp(4096);
  write_payload(pattern.message(kQpn + 1, 0), other_qp);
  EXPECT_NE(base, other_qp);
  const Bytes longer = message_bytes(pattern, 0, 8192);
  EXPECT_FALSE(std::equal(base.begin(), base.end(), longer.begin() + 4096));
}

// A packet put one or more PMTUs off, or left from any of the last thousand messages, shows as corrupt.
TEST(Payload, ShiftedAndStaleBytesAreCorrupt) {
  const PayloadPattern pattern(3);
  const Payload sent = pattern.message(kQpn, 5);
  for (std::uint64_t packets = 1; packets < 5000; packets += 7) {
    const ByteView shifted = sent.at(packets * 1024, 1024);
    EXPECT_GT(check_payload(sent, shifted).corrupt_bytes, 900U) << packets;
  }
  for (std::uint64_t message = 6; message < 1006; ++message) {
    EXPECT_GT(check_payload(sent, pattern.message(kQpn, message).at(0, 1024)).corrupt_bytes, 900U) << message;
  }
}

TEST(Payload, CheckSeparatesZeroRunsFromCorruption) {
  const PayloadPattern pattern(4);
  Bytes bytes = message_bytes(pattern, 0, 10'000);
  EXPECT_EQ(check_payload(pattern.message(kQpn, 0), bytes).corrupt_bytes, 0U);
  std::fill_n(bytes.begin() + 4000, 1000, std::uint8_t{0});  // across a chunk of the checker
  std::fill_n(bytes.begin() + 9999, 1, std::uint8_t{0});
  bytes[0] = kPoison;
  bytes[6000] = bytes[6000] == 1 ? std::uint8_t{2} : std::uint8_t{1};
  const PayloadCheck check = check_payload(pattern.message(kQpn, 0), bytes);
  EXPECT_EQ(check.corrupt_bytes, 2U);
  EXPECT_EQ(check.zero_runs, (std::vector<ByteRange>{{4000, 1000}, {9999, 1}}));
}

}  // namespace
}  // namespace weft::rc
