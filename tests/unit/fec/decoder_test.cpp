#include <algorithm>
#include <bit>

#include <gtest/gtest.h>

#include "agent/fec/block_decoder.h"
#include "agent/fec/cauchy_inverse.h"
#include "tests/support/slow_code.h"
#include "tests/unit/fec/block_fixture.h"

namespace weft::fec {
namespace {

using test::Block;

std::vector<unsigned> all_rows(unsigned rows) {
  std::vector<unsigned> list(rows);
  for (unsigned row = 0; row < rows; ++row)
    list[row] = row;
  return list;
}

std::vector<bool> pattern(unsigned columns, unsigned bits) {
  std::vector<bool> erased(columns);
  for (unsigned i = 0; i < columns; ++i)
    erased[i] = (bits >> i & 1) != 0;
  return erased;
}

// Every subset of lost sources with every subset of received repairs: recovered exactly when there are enough.
TEST(BlockDecoder, ReedSolomonCuresEveryPatternItCan) {
  Rng rng = weft::test::rng(11);
  BlockEncoder encoder;
  BlockDecoder decoder;
  for (unsigned columns = 1; columns <= 6; ++columns) {
    for (unsigned rows = 1; rows <= 4; ++rows) {
      Block block = test::random_block(rng, {CodeKind::kReedSolomon, columns, rows}, 1, 90);
      test::encode(encoder, block, 90);
      for (unsigned lost = 0; lost < 1U << columns; ++lost) {
        const auto known = test::known_except(block, pattern(columns, lost));
        for (unsigned received = 0; received < 1U << rows; ++received) {
          std::vector<unsigned> kept;
          for (unsigned row = 0; row < rows; ++row) {
            if ((received >> row & 1) != 0) kept.push_back(row);
          }
          const auto repairs = test::repairs_of(block, kept);
          const auto result = decoder.recover(block.shape, known, repairs);
          ASSERT_TRUE(result) << result.error().to_string();
          const bool enough = std::popcount(lost) <= std::popcount(received);
          ASSERT_EQ(result->size(), enough ? std::popcount(lost) : 0);
          for (const RecoveredSymbol& symbol : *result) {
            ASSERT_TRUE((lost >> symbol.column & 1) != 0);
            ASSERT_TRUE(test::is_source(block, symbol));
          }
        }
      }
    }
  }
}

TEST(BlockDecoder, XorCuresOneErasurePerRow) {
  Rng rng = weft::test::rng(12);
  BlockEncoder encoder;
  BlockDecoder decoder;
  for (unsigned rows = 1; rows <= 4; ++rows) {
    const unsigned columns = 8;
    Block block = test::random_block(rng, {CodeKind::kXor, columns, rows}, 1, 90);
    test::encode(encoder, block, 90);
    for (unsigned lost = 0; lost < 1U << columns; ++lost) {
      const auto known = test::known_except(block, pattern(columns, lost));
      const auto repairs = test::repairs_of(block, all_rows(rows));
      const auto result = decoder.recover(block.shape, known, repairs);
      ASSERT_TRUE(result);
      std::vector<unsigned> expected;
      for (unsigned column = 0; column < columns; ++column) {
        unsigned in_row = 0;
        for (unsigned other = column % rows; other < columns; other += rows)
          in_row += lost >> other & 1;
        if ((lost >> column & 1) != 0 && in_row == 1) expected.push_back(column);
      }
      std::vector<unsigned> found;
      for (const RecoveredSymbol& symbol : *result) {
        ASSERT_TRUE(test::is_source(block, symbol));
        found.push_back(symbol.column);
      }
      ASSERT_EQ(found, expected);
    }
  }
}

TEST(BlockDecoder, RandomBlocksOfEveryShape) {
  Rng rng = weft::test::rng(13);
  BlockEncoder encoder;
  BlockDecoder decoder;
  for (int round = 0; round < 1000; ++round) {
    const BlockShape shape{CodeKind::kReedSolomon, static_cast<unsigned>(rng.between(1, kMaxColumns)),
                           static_cast<unsigned>(rng.between(1, kMaxRows))};
    const std::size_t longest = rng.between(1, 400);
    Block block = test::random_block(rng, shape, 1, longest);
    test::encode(encoder, block, longest);
    std::vector<bool> erased(shape.columns);
    const auto erasures = rng.between(1, std::min(shape.columns, shape.rows));
    for (std::uint64_t left = erasures; left > 0;) {
      const std::size_t column = rng.below(shape.columns);
      if (!erased[column]) --left;
      erased[column] = true;
    }
    std::vector<unsigned> rows = all_rows(shape.rows);
    while (rows.size() > erasures)
      rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(rng.below(rows.size())));
    std::ranges::reverse(rows);
    const auto known = test::known_except(block, erased);
    const auto repairs = test::repairs_of(block, rows);
    const auto result = decoder.recover(shape, known, repairs);
    ASSERT_TRUE(result);
    ASSERT_EQ(result->size(), erasures);
    for (const RecoveredSymbol& symbol : *result)
      ASSERT_TRUE(erased[symbol.column] && test::is_source(block, symbol));
  }
}

TEST(CauchyInverse, TimesItsMatrixIsOne) {
  Rng rng = weft::test::rng(15);
  for (int round = 0; round < 100; ++round) {
    const std::size_t size = rng.between(1, kMaxRows);
    std::vector<unsigned> rows = all_rows(kMaxRows);
    std::vector<unsigned> columns = all_rows(kMaxColumns);
    while (rows.size() > size)
      rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(rng.below(rows.size())));
    while (columns.size() > size)
      columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(rng.below(columns.size())));
    std::vector<std::uint8_t> inverse(size * size);
    cauchy_inverse(rows, columns, inverse);
    std::vector<std::uint8_t> matrix;
    for (const unsigned row : rows) {
      for (const unsigned column : columns)
        matrix.push_back(coefficient(CodeKind::kReedSolomon, row, column, kMaxRows));
    }
    for (std::size_t b = 0; b < size; ++b) {
      for (std::size_t column = 0; column < size; ++column) {
        std::uint8_t sum = 0;
        for (std::size_t a = 0; a < size; ++a)
          sum ^= weft::test::slow_multiply(inverse[a * size + b], matrix[a * size + column]);
        ASSERT_EQ(sum, b == column ? 1 : 0);
      }
    }
  }
}

class DecoderRefuses : public testing::Test {
 protected:
  void SetUp() override {
    Rng rng = weft::test::rng(14);
    block_ = test::random_block(rng, {CodeKind::kReedSolomon, 4, 2}, 50, 50);
    BlockEncoder encoder;
    test::encode(encoder, block_, 50);
    known_ = test::known_except(block_, {true, false, false, false});
    repairs_ = test::repairs_of(block_, {0, 1});
  }
  bool accepts(BlockShape shape) { return BlockDecoder().recover(shape, known_, repairs_).has_value(); }

  Block block_;
  std::vector<KnownSymbol> known_;
  std::vector<RepairSymbol> repairs_;
};

TEST_F(DecoderRefuses, ShapesOutOfRange) {
  EXPECT_TRUE(accepts(block_.shape));
  EXPECT_FALSE(accepts({CodeKind::kReedSolomon, 0, 2}));
  EXPECT_FALSE(accepts({CodeKind::kReedSolomon, kMaxColumns + 1, 2}));
  EXPECT_FALSE(accepts({CodeKind::kReedSolomon, 4, 0}));
  EXPECT_FALSE(accepts({CodeKind::kReedSolomon, 4, kMaxRows + 1}));
  EXPECT_FALSE(accepts({CodeKind::kReedSolomon, 3, 2}));  // column 3 is known
  EXPECT_FALSE(accepts({CodeKind::kReedSolomon, 4, 1}));  // row 1 was received
}

TEST_F(DecoderRefuses, AColumnTwice) {
  known_.push_back(known_.front());
  EXPECT_FALSE(accepts(block_.shape));
}

TEST_F(DecoderRefuses, RepairsOfDifferentLength) {
  repairs_[1].bytes = repairs_[1].bytes.first(49);
  EXPECT_FALSE(accepts(block_.shape));
}

TEST_F(DecoderRefuses, ASourceLongerThanTheRepairs) {
  for (RepairSymbol& repair : repairs_)
    repair.bytes = repair.bytes.first(49);
  EXPECT_FALSE(accepts(block_.shape));
}

TEST_F(DecoderRefuses, ToCountARepairTwice) {
  repairs_[1] = repairs_[0];
  known_.pop_back();  // two erasures, one distinct repair
  const auto result = BlockDecoder().recover(block_.shape, known_, repairs_);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->empty());
}

}  // namespace
}  // namespace weft::fec
