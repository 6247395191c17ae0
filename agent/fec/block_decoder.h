// Recovers the missing source symbols of one block from those that arrived and the repair symbols.
//
//   syndrome[j] = repair[j] - sum over known columns of coefficient * source      for as many rows as erasures
//   erased      = inverse(coefficients of those rows at the erased columns) * syndrome
//
// Work is done only when asked, so a block that lost nothing costs nothing here: the caller keeps arrived
// packets (it does so anyway, in their frames) and calls recover() once it holds as many repairs as erasures.
// Buffers are kept from block to block. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "agent/base/bytes.h"
#include "agent/base/result.h"
#include "agent/fec/accumulate.h"
#include "agent/fec/code.h"
#include "agent/fec/row_buffer.h"
#include "agent/fec/symbol.h"

namespace weft::fec {

struct KnownSymbol {
  unsigned column = 0;
  SymbolPieces pieces;
};

struct RepairSymbol {
  unsigned row = 0;
  ByteView bytes;
};

struct RecoveredSymbol {
  unsigned column = 0;
  ByteView bytes;  // padded to the repair symbols' length; see packet_in_symbol
};

class BlockDecoder {
 public:
  // Every column that is not known is erased. Returns those that could be recovered, in rising order: with
  // Reed-Solomon all of them, or none when there are fewer repairs than erasures; with XOR each on its own. The
  // result is valid until the next call.
  //
  // Trusts no number: fails when shape, column or row is out of range, a column is given twice, repair symbols
  // differ in length or a source symbol is longer than they are. A repair row given twice counts once. Wrong
  // bytes it cannot see: the caller checks the recovered packet's ICRC.
  Result<std::span<const RecoveredSymbol>> recover(const BlockShape& shape,
                                                   std::span<const KnownSymbol> known,
                                                   std::span<const RepairSymbol> repairs);

 private:
  Status check(const BlockShape& shape, std::span<const KnownSymbol> known,
               std::span<const RepairSymbol> repairs);
  void recover_reed_solomon(std::span<const KnownSymbol> known);
  void recover_xor(const BlockShape& shape, std::span<const KnownSymbol> known);

  // Of the block at hand, filled by check().
  std::vector<unsigned> erased_;
  std::vector<RepairSymbol> repairs_;  // by row, each row once
  std::size_t symbol_bytes_ = 0;

  RowBuffer syndromes_;
  RowBuffer output_;
  std::vector<std::uint8_t> inverse_;
  std::vector<std::uint8_t> tables_;
  std::vector<Term> terms_;
  std::vector<RecoveredSymbol> recovered_;
};

}  // namespace weft::fec
