#include "agent/fec/code.h"

#include <isa-l/erasure_code.h>

namespace weft::fec {

std::uint8_t coefficient(CodeKind code, unsigned row, unsigned column, unsigned rows) {
  if (code == CodeKind::kXor) return column % rows == row ? 1 : 0;
  return gf_inv(static_cast<std::uint8_t>((kMaxColumns + row) ^ column));
}

}  // namespace weft::fec
