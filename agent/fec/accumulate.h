// The inner step of encoder and decoder: destination rows += coefficients of one column * its symbol.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "agent/fec/code.h"
#include "agent/fec/symbol.h"

namespace weft::fec {

// ISA-L expands a coefficient to a table of at most this many bytes before multiplying by it.
inline constexpr std::size_t kTableBytes = 32;

// Tables of Reed-Solomon's first `rows` rows at `column`, in the form accumulate() takes; any rows <= kMaxRows.
const std::uint8_t* reed_solomon_tables(unsigned column);

// The table of coefficient 1.
const std::uint8_t* identity_table();

// destinations[j] += table j * symbol, for j < rows. Every destination holds at least the symbol's bytes and
// overlaps neither the symbol nor another destination.
void accumulate(const std::uint8_t* tables, unsigned rows, const SymbolPieces& symbol,
                const std::array<std::uint8_t*, kMaxRows>& destinations);

}  // namespace weft::fec
