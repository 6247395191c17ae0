// The codes of agent/fec written again as slowly and plainly as possible: the oracle of the fast ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "agent/base/bytes.h"
#include "agent/fec/code.h"

namespace weft::test {

// Carry-less product, reduced by x^8 + x^4 + x^3 + x^2 + 1.
inline std::uint8_t slow_multiply(std::uint8_t a, std::uint8_t b) {
  unsigned product = 0;
  for (unsigned bit = 0; bit < 8; ++bit) {
    if ((b >> bit & 1) != 0) product ^= unsigned{a} << bit;
  }
  for (unsigned bit = 14; bit >= 8; --bit) {
    if ((product >> bit & 1) != 0) product ^= 0x11dU << (bit - 8);
  }
  return static_cast<std::uint8_t>(product);
}

inline std::uint8_t slow_inverse(std::uint8_t a) {
  for (unsigned b = 1; b < 256; ++b) {
    if (slow_multiply(a, static_cast<std::uint8_t>(b)) == 1) return static_cast<std::uint8_t>(b);
  }
  return 0;
}

inline std::uint8_t slow_coefficient(fec::CodeKind code, unsigned row, unsigned column, unsigned rows) {
  if (code == fec::CodeKind::kXor) return column % rows == row ? 1 : 0;
  return slow_inverse(static_cast<std::uint8_t>((224 + row) ^ column));
}

// All repair symbols of a block, each as long as the longest source symbol.
inline std::vector<Bytes> slow_encode(fec::CodeKind code, unsigned rows, const std::vector<Bytes>& sources) {
  std::size_t longest = 0;
  for (const Bytes& source : sources)
    longest = std::max(longest, source.size());
  std::vector<Bytes> repairs(rows, Bytes(longest));
  for (unsigned row = 0; row < rows; ++row) {
    for (unsigned column = 0; column < sources.size(); ++column) {
      const std::uint8_t factor = slow_coefficient(code, row, column, rows);
      for (std::size_t i = 0; i < sources[column].size(); ++i)
        repairs[row][i] ^= slow_multiply(factor, sources[column][i]);
    }
  }
  return repairs;
}

}  // namespace weft::test
