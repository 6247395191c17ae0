#include "agent/base/bytes.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Bytes, StoresWhatItLoadsInNetworkOrder) {
  std::uint8_t b[8] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
  EXPECT_EQ(load_be16(b), 0x0123);
  EXPECT_EQ(load_be24(b), 0x012345U);
  EXPECT_EQ(load_be32(b + 4), 0x89abcdefU);
  EXPECT_EQ(load_be64(b), 0x0123456789abcdefU);
  std::uint8_t c[8] = {};
  store_be64(c, 0x0123456789abcdefU);
  EXPECT_EQ(to_hex(c), "0123456789abcdef");
  store_be24(c, 0xfedcba);
  EXPECT_EQ(to_hex(c), "fedcba6789abcdef");
}

TEST(Bytes, HexRefusesWhatIsNotHex) {
  EXPECT_EQ(from_hex("00ffA0").value(), (Bytes{0x00, 0xff, 0xa0}));
  EXPECT_FALSE(from_hex("0"));
  EXPECT_FALSE(from_hex("0g"));
  EXPECT_FALSE(from_hex("-1"));
}

}  // namespace
}  // namespace weft
