// agent/fec: erasure codes over spans of bytes, and how strong a code must be. Pure: no packets' meaning, no
// clocks, no sockets. The field arithmetic is ISA-L's, over GF(2^8) with polynomial 0x11d.
//
// A block is k source symbols (columns) and r repair symbols (rows). Row j is
//
//     repair[j] = sum over columns i of coefficient(j, i) * source[i]          (bytewise, in GF(2^8))
//
//   Reed-Solomon   coefficient(j, i) = 1 / ((224 + j) XOR i)      a Cauchy matrix: every square part of it is
//                                                                 invertible, so any e repairs cure e erasures
//   XOR            coefficient(j, i) = 1 when i mod r = j, else 0  each row cures one erasure of its own columns
//
// Neither depends on k. A block that is closed early is therefore a shortened code: the columns it lacks are
// zero, they are not sent, and the decoder need not know how many there might have been. Symbols shorter than
// the longest of the block are padded with zeros that are not sent either.
//
// Sources: Blömer et al., "An XOR-Based Erasure-Resilient Coding Scheme", 1995 (Cauchy matrices as codes);
// RFC 5510 (Reed-Solomon over GF(2^m)); the interleaved XOR is LoWAR's (IWQoS 2024).
#pragma once

#include <cstdint>

namespace weft::fec {

// The values are the wire's.
enum class CodeKind : std::uint8_t { kReedSolomon = 1, kXor = 2 };

// Columns are 0..223 and row j stands at 224 + j, so that a column and a row never meet in the Cauchy formula
// and an index of either fits a byte: kMaxColumns + kMaxRows is all the field has. Long blocks are for clean
// links, where one repair and one list for 224 packets cost 0.8 % of their bytes and one for 128 would cost
// 1.2 %.
inline constexpr unsigned kMaxColumns = 224;
// Enough for the strongest code worth its overhead; every column's row tables are 1 KiB then.
inline constexpr unsigned kMaxRows = 32;

struct BlockShape {
  CodeKind code = CodeKind::kReedSolomon;
  unsigned columns = 0;  // k: source symbols in the block, 1..kMaxColumns
  unsigned rows = 0;     // r: repair symbols made for it, 1..kMaxRows; fixed when the block opens
};

// The formula above. row < rows <= kMaxRows, column < kMaxColumns. `rows` matters to XOR only.
std::uint8_t coefficient(CodeKind code, unsigned row, unsigned column, unsigned rows);

}  // namespace weft::fec
