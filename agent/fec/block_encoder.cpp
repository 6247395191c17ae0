#include "agent/fec/block_encoder.h"

#include <cstring>

#include <isa-l/erasure_code.h>

#include "agent/fec/accumulate.h"

namespace weft::fec {

BlockEncoder::BlockEncoder() : reed_solomon_(reed_solomon_tables(isal_galois())) {}

void BlockEncoder::open(CodeKind code, unsigned rows, std::size_t max_symbol_bytes) {
  buffer_.reserve(rows, max_symbol_bytes);
  for (unsigned row = 0; row < rows; ++row)
    row_tails_[row] = row_starts_[row] = buffer_.row(row);
  tail_offset_ = 0;
  code_ = code;
  rows_ = rows;
  columns_ = 0;
  max_symbol_bytes_ = max_symbol_bytes;
  symbol_bytes_ = 0;
}

bool BlockEncoder::add(const SymbolPieces& symbol) {
  const std::size_t bytes = fec::symbol_bytes(symbol);
  if (rows_ == 0 || columns_ == kMaxColumns || bytes > max_symbol_bytes_) return false;
  // Rows are zeroed as far as symbols reach, so that small packets in a large block cost little.
  if (bytes > symbol_bytes_) {
    for (unsigned row = 0; row < rows_; ++row)
      std::memset(row_starts_[row] + symbol_bytes_, 0, bytes - symbol_bytes_);
    symbol_bytes_ = bytes;
  }
  if (code_ == CodeKind::kXor) {
    accumulate(identity_table(), 1, symbol, columns_ % rows_);
  } else {
    accumulate(reed_solomon_ + columns_ * kTablesPerColumnBytes, rows_, symbol, 0);
  }
  ++columns_;
  return true;
}

void BlockEncoder::accumulate(const std::uint8_t* tables, unsigned rows, const SymbolPieces& symbol,
                              unsigned first_row) {
  // ISA-L reads tables, source and pointers only; its prototypes predate const.
  const auto add = [&](const ByteView& piece, std::uint8_t* const* to) {
    ec_encode_data_update(static_cast<int>(piece.size()), 1, static_cast<int>(rows), 0,
                          const_cast<std::uint8_t*>(tables), const_cast<std::uint8_t*>(piece.data()),
                          const_cast<std::uint8_t**>(to));
  };
  const auto& [head, tail] = symbol;
  if (!head.empty()) add(head, &row_starts_[first_row]);
  if (tail.empty()) return;
  if (head.size() != tail_offset_) {
    tail_offset_ = head.size();
    for (unsigned row = 0; row < rows_; ++row)
      row_tails_[row] = row_starts_[row] + tail_offset_;
  }
  add(tail, &row_tails_[first_row]);
}

}  // namespace weft::fec
