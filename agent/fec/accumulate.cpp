#include "agent/fec/accumulate.h"

#include <memory>

#include <isa-l/erasure_code.h>

namespace weft::fec {
namespace {

// One table set per column, made by ec_init_tables for a code of one column: then the first r rows of it are
// the tables of a code of r rows, and nothing here depends on how the library lays a table out (that differs
// between ISA-L versions and processors).
struct TableStore {
  std::array<std::array<std::uint8_t, kMaxRows * kTableBytes>, kMaxColumns> of_column;

  TableStore() {
    std::array<std::uint8_t, kMaxRows> coefficients;
    for (unsigned column = 0; column < kMaxColumns; ++column) {
      for (unsigned row = 0; row < kMaxRows; ++row)
        coefficients[row] = coefficient(CodeKind::kReedSolomon, row, column, kMaxRows);
      ec_init_tables(1, kMaxRows, coefficients.data(), of_column[column].data());
    }
  }
};

}  // namespace

const std::uint8_t* reed_solomon_tables(unsigned column) {
  static const auto kStore = std::make_unique<const TableStore>();
  return kStore->of_column[column].data();
}

const std::uint8_t* identity_table() {
  static const auto kTable = [] {
    std::array<std::uint8_t, kTableBytes> table{};
    std::uint8_t one = 1;
    ec_init_tables(1, 1, &one, table.data());
    return table;
  }();
  return kTable.data();
}

void accumulate(const std::uint8_t* tables, unsigned rows, const SymbolPieces& symbol,
                const std::array<std::uint8_t*, kMaxRows>& destinations) {
  // ISA-L reads tables, source and pointers only; its prototypes predate const.
  const auto add = [&](ByteView piece, std::uint8_t* const* at) {
    if (piece.empty()) return;
    ec_encode_data_update(static_cast<int>(piece.size()), 1, static_cast<int>(rows), 0,
                          const_cast<std::uint8_t*>(tables), const_cast<std::uint8_t*>(piece.data()),
                          const_cast<std::uint8_t**>(at));
  };
  add(symbol[0], destinations.data());
  std::array<std::uint8_t*, kMaxRows> behind;
  for (unsigned row = 0; row < rows; ++row)
    behind[row] = destinations[row] + symbol[0].size();
  add(symbol[1], behind.data());
}

}  // namespace weft::fec
