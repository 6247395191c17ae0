// Makes the repair symbols of one block while its packets pass: a symbol is added when its packet is
// forwarded, and nothing is kept of it but its share of the sums.
//
//   BlockEncoder encoder;
//   encoder.open(CodeKind::kReedSolomon, 4, 1500);
//   encoder.add(SourceSymbol(ipv6, ip_packet).pieces());       column 0, 1, 2 ... in the order added
//   encoder.repair(0) ... encoder.repair(3)                    valid until the next add or open
//
// Owns its rows and keeps them from block to block: memory is allocated only when a block needs more than any
// before it. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "agent/fec/code.h"
#include "agent/fec/row_buffer.h"
#include "agent/fec/symbol.h"

namespace weft::fec {

class BlockEncoder {
 public:
  BlockEncoder();

  // Starts an empty block. 1 <= rows <= kMaxRows.
  void open(CodeKind code, unsigned rows, std::size_t max_symbol_bytes);

  // Adds the next column. False, and nothing changes, when no block is open, it has kMaxColumns, or the symbol is
  // longer than open() was told.
  [[nodiscard]] bool add(const SymbolPieces& symbol);

  unsigned columns() const { return columns_; }
  unsigned rows() const { return rows_; }
  // Length of every repair symbol: that of the longest source symbol so far.
  std::size_t symbol_bytes() const { return symbol_bytes_; }
  ByteView repair(unsigned row) const { return {buffer_.row(row), symbol_bytes_}; }

 private:
  // The rows from `first_row` on += the table of each * symbol. One symbol at a time loading and storing the rows is
  // what takes the time, and ISA-L is as good as anything.
  void accumulate(const std::uint8_t* tables, unsigned rows, const SymbolPieces& symbol, unsigned first_row);

  const std::uint8_t* reed_solomon_;
  RowBuffer buffer_;
  std::array<std::uint8_t*, kMaxRows> row_starts_{};
  std::array<std::uint8_t*, kMaxRows> row_tails_{};  // tail_offset_ further
  std::size_t tail_offset_ = 0;
  std::size_t max_symbol_bytes_ = 0;
  std::size_t symbol_bytes_ = 0;
  CodeKind code_ = CodeKind::kReedSolomon;
  unsigned rows_ = 0;
  unsigned columns_ = 0;
};

}  // namespace weft::fec
