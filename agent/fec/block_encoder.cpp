#include "agent/fec/block_encoder.h"

#include <cstring>

#include "agent/fec/accumulate.h"

namespace weft::fec {

void BlockEncoder::open(CodeKind code, unsigned rows, std::size_t max_symbol_bytes) {
  buffer_.reserve(rows, max_symbol_bytes);
  for (unsigned row = 0; row < rows; ++row)
    row_starts_[row] = buffer_.row(row);
  code_ = code;
  rows_ = rows;
  columns_ = 0;
  max_symbol_bytes_ = max_symbol_bytes;
  symbol_bytes_ = 0;
}

bool BlockEncoder::add(const SymbolPieces& symbol) {
  const std::size_t bytes = fec::symbol_bytes(symbol);
  if (columns_ == kMaxColumns || bytes > max_symbol_bytes_) return false;
  // Rows are zeroed as far as symbols reach, so that small packets in a large block cost little.
  if (bytes > symbol_bytes_) {
    for (unsigned row = 0; row < rows_; ++row)
      std::memset(row_starts_[row] + symbol_bytes_, 0, bytes - symbol_bytes_);
    symbol_bytes_ = bytes;
  }
  if (code_ == CodeKind::kXor) {
    std::array<std::uint8_t*, kMaxRows> destination{row_starts_[columns_ % rows_]};
    accumulate(identity_table(), 1, symbol, destination);
  } else {
    accumulate(reed_solomon_tables(columns_), rows_, symbol, row_starts_);
  }
  ++columns_;
  return true;
}

}  // namespace weft::fec
