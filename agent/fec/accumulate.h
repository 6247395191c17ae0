// The inner step of encoder and decoder: destination rows += coefficients of a column * its symbol.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "agent/fec/code.h"
#include "agent/fec/galois.h"
#include "agent/fec/symbol.h"

namespace weft::fec {

// Tables of Reed-Solomon's columns as `field` takes them, kTablesPerColumnBytes apart from column 0 on. Those of the
// first `rows` rows come first; any rows <= kMaxRows.
const std::uint8_t* reed_solomon_tables(const Galois& field);
inline constexpr std::size_t kTablesPerColumnBytes = kMaxRows * kTableBytes;

// ISA-L's table of coefficient 1.
const std::uint8_t* identity_table();

// A symbol and the tables of its column.
struct Term {
  const std::uint8_t* tables = nullptr;
  SymbolPieces symbol;
};

// destinations[j] += table j * symbol for every term and j < rows; the tables are `field`'s. Several terms are added in
// one pass where their pieces have the same lengths. Every destination holds at least the longest symbol's bytes and
// overlaps neither a symbol nor another destination.
void accumulate(const Galois& field, std::span<const Term> terms, unsigned rows,
                const std::array<std::uint8_t*, kMaxRows>& destinations);

}  // namespace weft::fec
