#include "agent/fec/cauchy_inverse.h"

#include <array>

#include "agent/fec/code.h"

namespace weft::fec {
namespace {

constexpr unsigned kOrder = 255;  // of the field's multiplicative group; 2 generates it

// Logarithms turn the products of the formula into sums.
struct Logarithms {
  std::array<std::uint8_t, 256> of{};
  std::array<std::uint8_t, kOrder> power{};

  constexpr Logarithms() {
    unsigned value = 1;
    for (unsigned exponent = 0; exponent < kOrder; ++exponent) {
      power[exponent] = static_cast<std::uint8_t>(value);
      of[value] = static_cast<std::uint8_t>(exponent);
      value <<= 1;
      if (value > 0xff) value ^= 0x11d;
    }
  }
};
constexpr Logarithms kLog;

}  // namespace

// With x and y the rows' and columns' elements, A[a][b] = 1 / (x_a + y_b), and addition being its own inverse
// (Schechter, "On the inversion of certain matrices", 1959):
//
//                          prod_k (x_a + y_k) (x_k + y_b)
//   inverse[b][a] = ----------------------------------------------------------------
//                   (x_a + y_b) prod_{k != a} (x_a + x_k) prod_{k != b} (y_b + y_k)
void cauchy_inverse(std::span<const unsigned> rows, std::span<const unsigned> columns,
                    std::span<std::uint8_t> inverse) {
  const std::size_t size = rows.size();
  // log of the part of the fraction that depends on a alone, and on b alone.
  std::array<unsigned, kMaxRows> of_row{};
  std::array<unsigned, kMaxRows> of_column{};
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t k = 0; k < size; ++k) {
      of_row[i] += kLog.of[(kMaxColumns + rows[i]) ^ columns[k]];
      of_column[i] += kLog.of[(kMaxColumns + rows[k]) ^ columns[i]];
      if (k == i) continue;
      of_row[i] += kOrder - kLog.of[(kMaxColumns + rows[i]) ^ (kMaxColumns + rows[k])];
      of_column[i] += kOrder - kLog.of[columns[i] ^ columns[k]];
    }
  }
  for (std::size_t a = 0; a < size; ++a) {
    for (std::size_t b = 0; b < size; ++b) {
      const unsigned divisor = kLog.of[(kMaxColumns + rows[a]) ^ columns[b]];
      inverse[a * size + b] = kLog.power[(of_row[a] + of_column[b] + kOrder - divisor) % kOrder];
    }
  }
}

}  // namespace weft::fec
