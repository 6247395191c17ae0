// Bulk multiplication in GF(2^8), polynomial 0x11d: what every code here spends its time on.
//
// Two implementations of the same arithmetic:
//
//   ISA-L   everywhere. Adds one factor at a time to all rows; two table look-ups a byte vector and coefficient.
//   GFNI    on x86-64 with AVX-512 and GFNI (Ice Lake, Zen 4 and later). Multiplication by a constant is linear over
//           bits, so one affine instruction does it, and four factors are added in one pass over the rows. ISA-L has
//           the instruction from 2.31 on; distributions have older ones.
//
// With a single factor loading and storing the rows is what takes the time: then ISA-L is as good. With several GFNI is
// twice as fast.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "agent/base/bytes.h"

namespace weft::fec {

// A coefficient is expanded to at most this many bytes before anything is multiplied by it.
inline constexpr std::size_t kTableBytes = 32;

// What is multiplied by the coefficients of one column.
struct Factor {
  const std::uint8_t* tables = nullptr;  // of that column
  const std::uint8_t* bytes = nullptr;
};

// The tables of one implementation mean nothing to the other.
struct Galois {
  const char* name;

  // Tables of one column: room for kTableBytes per coefficient. The tables of the first n coefficients are the
  // beginning of those of all.
  void (*make_tables)(std::span<const std::uint8_t> coefficients, std::uint8_t* tables);

  // destinations[j] += coefficient j of each factor * its `length` bytes, for 0 <= j < rows, rows > 0. Destinations
  // hold at least those bytes and overlap neither a factor nor each other.
  void (*multiply_add)(std::span<const Factor> factors, unsigned rows, std::size_t length,
                       std::uint8_t* const* destinations);
};

const Galois& isal_galois();
// nullptr where the processor lacks the instructions.
const Galois* gfni_galois();

// The fastest here for many factors at once.
const Galois& best_galois();

}  // namespace weft::fec
