#include <gtest/gtest.h>

#include "agent/fec/block_encoder.h"
#include "tests/support/slow_code.h"
#include "tests/unit/fec/block_fixture.h"

namespace weft::fec {
namespace {

constexpr CodeKind kCodes[] = {CodeKind::kReedSolomon, CodeKind::kXor};

TEST(Code, CoefficientsFollowTheFormula) {
  for (const CodeKind code : kCodes) {
    for (unsigned row = 0; row < kMaxRows; ++row) {
      for (unsigned column = 0; column < kMaxColumns; ++column) {
        ASSERT_EQ(coefficient(code, row, column, kMaxRows),
                  weft::test::slow_coefficient(code, row, column, kMaxRows));
      }
    }
  }
}

// Another implementation must find the same numbers.
TEST(Code, KnownCoefficients) {
  EXPECT_EQ(coefficient(CodeKind::kReedSolomon, 0, 0, 1), 0x14);
  EXPECT_EQ(coefficient(CodeKind::kReedSolomon, 0, 1, 1), 0x3f);
  EXPECT_EQ(coefficient(CodeKind::kReedSolomon, 1, 0, 1), 0x3f);
  EXPECT_EQ(coefficient(CodeKind::kReedSolomon, 3, 5, 4), 0xe2);
  EXPECT_EQ(coefficient(CodeKind::kReedSolomon, 31, 223, 32), 0x6c);
}

TEST(BlockEncoder, AgreesWithThePlainSumForAnyShape) {
  Rng rng = weft::test::rng(1);
  BlockEncoder encoder;
  for (int round = 0; round < 400; ++round) {
    const BlockShape shape{kCodes[rng.below(2)], static_cast<unsigned>(rng.between(1, 40)),
                           static_cast<unsigned>(rng.between(1, 12))};
    test::Block block = test::random_block(rng, shape, 1, 300);
    test::encode(encoder, block, 300);
    ASSERT_EQ(block.repairs, weft::test::slow_encode(shape.code, shape.rows, block.sources))
        << shape.columns << " columns, " << shape.rows << " rows";
  }
}

TEST(BlockEncoder, AgreesAtTheLimits) {
  Rng rng = weft::test::rng(2);
  BlockEncoder encoder;
  for (const CodeKind code : kCodes) {
    test::Block block = test::random_block(rng, {code, kMaxColumns, kMaxRows}, 64, 257);
    test::encode(encoder, block, 257);
    EXPECT_EQ(block.repairs, weft::test::slow_encode(code, kMaxRows, block.sources));
  }
}

TEST(BlockEncoder, EverySmallSizeAgrees) {
  Rng rng = weft::test::rng(3);
  BlockEncoder encoder;
  for (std::size_t bytes = 1; bytes <= 200; ++bytes) {
    test::Block block = test::random_block(rng, {CodeKind::kReedSolomon, 5, 7}, bytes, bytes);
    test::encode(encoder, block, 4200);
    ASSERT_EQ(block.repairs, weft::test::slow_encode(CodeKind::kReedSolomon, 7, block.sources)) << bytes;
  }
}

// What makes a block that closes early a shortened code: its rows are those of the full code with the missing
// columns at zero.
TEST(BlockEncoder, ShortBlockIsAShortenedCode) {
  Rng rng = weft::test::rng(4);
  BlockEncoder encoder;
  for (const CodeKind code : kCodes) {
    test::Block block = test::random_block(rng, {code, 9, 4}, 100, 100);
    test::encode(encoder, block, 100);
    std::vector<Bytes> longer = block.sources;
    longer.resize(30, Bytes(100));
    EXPECT_EQ(block.repairs, weft::test::slow_encode(code, 4, longer));
  }
}

TEST(BlockEncoder, RefusesWhatDoesNotFit) {
  BlockEncoder encoder;
  encoder.open(CodeKind::kReedSolomon, 2, 10);
  const Bytes fits(10, 1);
  const Bytes too_long(11, 1);
  EXPECT_FALSE(encoder.add({ByteView(too_long), {}}));
  EXPECT_EQ(encoder.columns(), 0U);
  for (unsigned i = 0; i < kMaxColumns; ++i)
    ASSERT_TRUE(encoder.add({ByteView(fits), {}}));
  EXPECT_FALSE(encoder.add({ByteView(fits), {}}));
  EXPECT_EQ(encoder.columns(), kMaxColumns);
}

}  // namespace
}  // namespace weft::fec
