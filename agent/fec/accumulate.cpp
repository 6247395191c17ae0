#include "agent/fec/accumulate.h"

#include <algorithm>
#include <memory>

namespace weft::fec {
namespace {

// A multiple of what the field takes at once.
constexpr std::size_t kTermsAtOnce = 8;

// One table set per column, so that the first r rows of it are the tables of a code of r rows.
struct TableStore {
  std::array<std::array<std::uint8_t, kTablesPerColumnBytes>, kMaxColumns> of_column;

  explicit TableStore(const Galois& field) {
    std::array<std::uint8_t, kMaxRows> coefficients;
    for (unsigned column = 0; column < kMaxColumns; ++column) {
      for (unsigned row = 0; row < kMaxRows; ++row)
        coefficients[row] = coefficient(CodeKind::kReedSolomon, row, column, kMaxRows);
      field.make_tables(coefficients, of_column[column].data());
    }
  }
};

}  // namespace

const std::uint8_t* reed_solomon_tables(const Galois& field) {
  static const auto of_isal = std::make_unique<const TableStore>(isal_galois());
  if (&field == &isal_galois()) return of_isal->of_column.front().data();
  static const auto of_best = std::make_unique<const TableStore>(best_galois());
  return of_best->of_column.front().data();
}

const std::uint8_t* identity_table() {
  static const auto table = [] {
    std::array<std::uint8_t, kTableBytes> bytes{};
    const std::uint8_t one = 1;
    isal_galois().make_tables({&one, 1}, bytes.data());
    return bytes;
  }();
  return table.data();
}

namespace {

// As many as are cut alike can be added in one pass: most packets of a block are as long as each other.
std::size_t alike(std::span<const Term> terms) {
  std::size_t count = 1;
  while (count < terms.size() && terms[count].symbol[0].size() == terms[0].symbol[0].size() &&
         terms[count].symbol[1].size() == terms[0].symbol[1].size())
    ++count;
  return count;
}

}  // namespace

void accumulate(const Galois& field, std::span<const Term> terms, unsigned rows,
                const std::array<std::uint8_t*, kMaxRows>& destinations) {
  std::array<Factor, kTermsAtOnce> factors;
  while (!terms.empty()) {
    const std::span<const Term> now = terms.first(alike(terms.first(std::min(terms.size(), kTermsAtOnce))));
    std::array<std::uint8_t*, kMaxRows> to = destinations;
    for (std::size_t piece = 0; piece < 2; ++piece) {
      const std::size_t length = now.front().symbol[piece].size();
      if (length == 0) continue;
      for (std::size_t i = 0; i < now.size(); ++i)
        factors[i] = {now[i].tables, now[i].symbol[piece].data()};
      field.multiply_add(std::span(factors).first(now.size()), rows, length, to.data());
      for (unsigned row = 0; row < rows; ++row)
        to[row] += length;
    }
    terms = terms.subspan(now.size());
  }
}

}  // namespace weft::fec
