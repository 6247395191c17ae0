#include "agent/fec/galois.h"

#include <isa-l/erasure_code.h>

namespace weft::fec {
namespace {

// ISA-L reads tables, source and pointers only; its prototypes predate const.

void make_tables(std::span<const std::uint8_t> coefficients, std::uint8_t* tables) {
  ec_init_tables(1, static_cast<int>(coefficients.size()), const_cast<std::uint8_t*>(coefficients.data()),
                 tables);
}

void multiply_add(std::span<const Factor> factors, unsigned rows, std::size_t length,
                  std::uint8_t* const* destinations) {
  for (const Factor& factor : factors) {
    ec_encode_data_update(static_cast<int>(length), 1, static_cast<int>(rows), 0,
                          const_cast<std::uint8_t*>(factor.tables), const_cast<std::uint8_t*>(factor.bytes),
                          const_cast<std::uint8_t**>(destinations));
  }
}

constexpr Galois kIsalGalois{"ISA-L", make_tables, multiply_add};

}  // namespace

const Galois& isal_galois() { return kIsalGalois; }

const Galois& best_galois() {
  static const Galois* const best = gfni_galois() != nullptr ? gfni_galois() : &kIsalGalois;
  return *best;
}

}  // namespace weft::fec
