#include <algorithm>
#include <array>
#include <cstring>

#include "agent/fec/galois.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define WEFT_GFNI __attribute__((target("avx512f,avx512bw,gfni")))

namespace weft::fec {
namespace {

constexpr unsigned kVectorBytes = 64;
// Rows written in one pass, and factors added in it: their matrices and the sums fit the registers.
constexpr unsigned kMaxRowsAtOnce = 4;
constexpr unsigned kFactorsAtOnce = 4;

constexpr unsigned times_x(unsigned value) { return (value << 1) ^ (value >> 7) * 0x11d; }

// Multiplication by every coefficient as an 8x8 matrix of bits, as GF2P8AFFINEQB takes it: byte 7 - i of the word has
// bit j set where bit i of the product depends on bit j of the factor.
constexpr std::array<std::uint64_t, 256> make_matrices() {
  std::array<std::uint64_t, 256> matrices{};
  for (unsigned coefficient = 0; coefficient < matrices.size(); ++coefficient) {
    unsigned product = coefficient;  // of the coefficient and x^j
    for (unsigned j = 0; j < 8; ++j, product = times_x(product)) {
      for (unsigned i = 0; i < 8; ++i) {
        const std::uint64_t bit = product >> i & 1;
        matrices[coefficient] |= bit << (8 * (7 - i) + j);
      }
    }
  }
  return matrices;
}
constexpr std::array<std::uint64_t, 256> kMatrices = make_matrices();

void make_tables(std::span<const std::uint8_t> coefficients, std::uint8_t* tables) {
  for (const std::uint8_t coefficient : coefficients) {
    std::memcpy(tables, &kMatrices[coefficient], sizeof(std::uint64_t));
    tables += sizeof(std::uint64_t);
  }
}

// The inner loops disappear: matrices, pointers and sums are registers.
template <unsigned kRows, unsigned kFactors>
WEFT_GFNI void add_rows(const Factor* factors, std::size_t tables_offset, std::size_t length,
                        std::uint8_t* const* destinations) {
  __m512i matrix[kFactors][kRows];
  const std::uint8_t* from[kFactors];
  std::uint8_t* to[kRows];
#pragma GCC unroll 4
  for (unsigned factor = 0; factor < kFactors; ++factor) {
    from[factor] = factors[factor].bytes;
#pragma GCC unroll 4
    for (unsigned row = 0; row < kRows; ++row) {
      std::uint64_t word = 0;
      std::memcpy(&word, factors[factor].tables + tables_offset + row * sizeof(word), sizeof(word));
      matrix[factor][row] = _mm512_set1_epi64(static_cast<long long>(word));
    }
  }
#pragma GCC unroll 4
  for (unsigned row = 0; row < kRows; ++row)
    to[row] = destinations[row];
  const std::size_t whole = length / kVectorBytes * kVectorBytes;
  for (std::size_t at = 0; at < whole; at += kVectorBytes) {
    __m512i bytes[kFactors];
#pragma GCC unroll 4
    for (unsigned factor = 0; factor < kFactors; ++factor)
      bytes[factor] = _mm512_loadu_si512(from[factor] + at);
#pragma GCC unroll 4
    for (unsigned row = 0; row < kRows; ++row) {
      __m512i sum = _mm512_loadu_si512(to[row] + at);
#pragma GCC unroll 4
      for (unsigned factor = 0; factor < kFactors; ++factor)
        sum = _mm512_xor_si512(sum, _mm512_gf2p8affine_epi64_epi8(bytes[factor], matrix[factor][row], 0));
      _mm512_storeu_si512(to[row] + at, sum);
    }
  }
  if (whole == length) return;
  const __mmask64 mask = (std::uint64_t{1} << (length - whole)) - 1;
#pragma GCC unroll 4
  for (unsigned row = 0; row < kRows; ++row) {
    __m512i sum = _mm512_maskz_loadu_epi8(mask, to[row] + whole);
#pragma GCC unroll 4
    for (unsigned factor = 0; factor < kFactors; ++factor) {
      const __m512i bytes = _mm512_maskz_loadu_epi8(mask, from[factor] + whole);
      sum = _mm512_xor_si512(sum, _mm512_gf2p8affine_epi64_epi8(bytes, matrix[factor][row], 0));
    }
    _mm512_mask_storeu_epi8(to[row] + whole, mask, sum);
  }
}

template <unsigned kFactors>
void add_all_rows(const Factor* factors, unsigned rows, std::size_t length,
                  std::uint8_t* const* destinations) {
  static constexpr std::array kOfRows{add_rows<1, kFactors>, add_rows<2, kFactors>, add_rows<3, kFactors>,
                                      add_rows<4, kFactors>};
  std::size_t tables_offset = 0;
  for (; rows > kMaxRowsAtOnce; rows -= kMaxRowsAtOnce) {
    kOfRows[kMaxRowsAtOnce - 1](factors, tables_offset, length, destinations);
    tables_offset += kMaxRowsAtOnce * sizeof(std::uint64_t);
    destinations += kMaxRowsAtOnce;
  }
  kOfRows[rows - 1](factors, tables_offset, length, destinations);
}

void multiply_add(std::span<const Factor> factors, unsigned rows, std::size_t length,
                  std::uint8_t* const* destinations) {
  for (; factors.size() >= kFactorsAtOnce; factors = factors.subspan(kFactorsAtOnce))
    add_all_rows<kFactorsAtOnce>(factors.data(), rows, length, destinations);
  for (const Factor& factor : factors)
    add_all_rows<1>(&factor, rows, length, destinations);
}

constexpr Galois kGfniGalois{"GFNI", make_tables, multiply_add};

}  // namespace

const Galois* gfni_galois() {
  const bool has = __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
                   __builtin_cpu_supports("gfni") != 0;
  return has ? &kGfniGalois : nullptr;
}

}  // namespace weft::fec

#else

namespace weft::fec {
const Galois* gfni_galois() { return nullptr; }
}  // namespace weft::fec

#endif
