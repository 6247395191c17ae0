// The inverse of a square part of the Reed-Solomon matrix, in closed form. Elimination takes a number of
// multiplications that grows with the cube of the erasures: 32 of them would stop the data path for 0.1 ms.
#pragma once

#include <cstdint>
#include <span>

namespace weft::fec {

// `rows` and `columns` have the same length, no value twice, and are within the code's limits. Writes the inverse
// syndrome by syndrome: inverse[a * columns.size() + b] is what syndrome a adds to column b.
void cauchy_inverse(std::span<const unsigned> rows, std::span<const unsigned> columns,
                    std::span<std::uint8_t> inverse);

}  // namespace weft::fec
