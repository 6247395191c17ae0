#include "agent/fec/block_decoder.h"

#include <algorithm>
#include <bitset>
#include <cstring>

#include <fmt/format.h>

#include "agent/fec/accumulate.h"
#include "agent/fec/cauchy_inverse.h"

namespace weft::fec {

Status BlockDecoder::check(const BlockShape& shape, std::span<const KnownSymbol> known,
                           std::span<const RepairSymbol> repairs) {
  if (shape.columns == 0 || shape.columns > kMaxColumns || shape.rows == 0 || shape.rows > kMaxRows) {
    return fail(fmt::format("block of {} columns and {} rows is out of range", shape.columns, shape.rows));
  }
  repairs_.clear();
  std::bitset<kMaxRows> have_row;
  for (const RepairSymbol& repair : repairs) {
    if (repair.row >= shape.rows) return fail(fmt::format("repair row {} of {}", repair.row, shape.rows));
    if (repair.bytes.size() != repairs.front().bytes.size())
      return fail("repair symbols of one block differ in length");
    if (have_row[repair.row]) continue;
    have_row.set(repair.row);
    repairs_.push_back(repair);
  }
  symbol_bytes_ = repairs.empty() ? 0 : repairs.front().bytes.size();

  std::bitset<kMaxColumns> have_column;
  for (const KnownSymbol& symbol : known) {
    if (symbol.column >= shape.columns || have_column[symbol.column])
      return fail(
          fmt::format("column {} of {} is out of range or given twice", symbol.column, shape.columns));
    if (!repairs.empty() && symbol_bytes(symbol.pieces) > symbol_bytes_)
      return fail("a source symbol is longer than its block's repair symbols");
    have_column.set(symbol.column);
  }
  erased_.clear();
  for (unsigned column = 0; column < shape.columns; ++column) {
    if (!have_column[column]) erased_.push_back(column);
  }
  std::ranges::sort(repairs_, {}, &RepairSymbol::row);
  return {};
}

Result<std::span<const RecoveredSymbol>> BlockDecoder::recover(const BlockShape& shape,
                                                               std::span<const KnownSymbol> known,
                                                               std::span<const RepairSymbol> repairs) {
  recovered_.clear();
  if (Status status = check(shape, known, repairs); !status) return fail(std::move(status.error()));
  if (erased_.empty() || symbol_bytes_ == 0) return recovered_;
  if (shape.code == CodeKind::kXor) {
    recover_xor(shape, known);
  } else if (repairs_.size() >= erased_.size()) {
    recover_reed_solomon(known);
  }
  return recovered_;
}

void BlockDecoder::recover_reed_solomon(std::span<const KnownSymbol> known) {
  const Galois& field = best_galois();
  const auto erasures = static_cast<unsigned>(erased_.size());
  syndromes_.reserve(erasures, symbol_bytes_);
  output_.reserve(erasures, symbol_bytes_);
  std::array<std::uint8_t*, kMaxRows> syndromes{};
  std::array<std::uint8_t*, kMaxRows> outputs{};
  for (unsigned i = 0; i < erasures; ++i) {
    syndromes[i] = syndromes_.row(i);
    outputs[i] = output_.row(i);
    std::memcpy(syndromes[i], repairs_[i].bytes.data(), symbol_bytes_);
    std::memset(outputs[i], 0, symbol_bytes_);
  }

  // The rows used are the first ones unless a repair was lost too: their tables exist already.
  const bool first_rows = repairs_[erasures - 1].row == erasures - 1;
  const std::size_t bytes_of_column = std::size_t{erasures} * kTableBytes;
  tables_.resize((first_rows ? erasures : std::max<std::size_t>(known.size(), erasures)) * bytes_of_column);
  std::array<std::uint8_t, kMaxRows> coefficients{};
  terms_.clear();
  for (const KnownSymbol& symbol : known) {
    const std::uint8_t* tables = &reed_solomon_tables(field)[symbol.column * kTablesPerColumnBytes];
    if (!first_rows) {
      for (unsigned i = 0; i < erasures; ++i)
        coefficients[i] = coefficient(CodeKind::kReedSolomon, repairs_[i].row, symbol.column, kMaxRows);
      std::uint8_t* own = &tables_[terms_.size() * bytes_of_column];
      field.make_tables(std::span(coefficients).first(erasures), own);
      tables = own;
    }
    terms_.push_back({tables, symbol.pieces});
  }
  accumulate(field, terms_, erasures, syndromes);

  std::array<unsigned, kMaxRows> rows{};
  for (unsigned i = 0; i < erasures; ++i)
    rows[i] = repairs_[i].row;
  inverse_.resize(std::size_t{erasures} * erasures);
  cauchy_inverse(std::span(rows).first(erasures), erased_, inverse_);
  terms_.clear();
  for (unsigned i = 0; i < erasures; ++i) {
    std::uint8_t* own = &tables_[i * bytes_of_column];
    field.make_tables(std::span(inverse_).subspan(std::size_t{i} * erasures, erasures), own);
    terms_.push_back({own, {ByteView(syndromes[i], symbol_bytes_), {}}});
  }
  accumulate(field, terms_, erasures, outputs);
  for (unsigned i = 0; i < erasures; ++i)
    recovered_.push_back({erased_[i], {outputs[i], symbol_bytes_}});
}

void BlockDecoder::recover_xor(const BlockShape& shape, std::span<const KnownSymbol> known) {
  std::array<unsigned, kMaxRows> erasures_of_row{};
  for (const unsigned column : erased_)
    ++erasures_of_row[column % shape.rows];
  output_.reserve(repairs_.size(), symbol_bytes_);

  std::array<std::uint8_t*, kMaxRows> sum_of_row{};
  for (std::size_t i = 0; i < repairs_.size(); ++i) {
    const RepairSymbol& repair = repairs_[i];
    if (erasures_of_row[repair.row] != 1) continue;
    sum_of_row[repair.row] = output_.row(i);
    std::memcpy(output_.row(i), repair.bytes.data(), symbol_bytes_);
  }
  for (const KnownSymbol& symbol : known) {
    std::uint8_t* sum = sum_of_row[symbol.column % shape.rows];
    if (sum != nullptr) accumulate(isal_galois(), {{Term{identity_table(), symbol.pieces}}}, 1, {sum});
  }
  for (const unsigned column : erased_) {
    if (const std::uint8_t* sum = sum_of_row[column % shape.rows]; sum != nullptr)
      recovered_.push_back({column, {sum, symbol_bytes_}});
  }
}

}  // namespace weft::fec
