// A random block: its source symbols in buffers of odd sizes and alignments, and its repair symbols.
#pragma once

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "agent/fec/block_decoder.h"
#include "agent/fec/block_encoder.h"
#include "tests/support/seed.h"

namespace weft::fec::test {

struct Block {
  BlockShape shape;
  std::vector<Bytes> sources;
  std::vector<Bytes> storage;  // each source at an odd address, so that alignment is never assumed
  std::vector<SymbolPieces> pieces;
  std::vector<Bytes> repairs;
};

inline Block random_block(Rng& rng, const BlockShape& shape, std::size_t min_bytes, std::size_t max_bytes) {
  Block block{.shape = shape, .sources = {}, .storage = {}, .pieces = {}, .repairs = {}};
  for (unsigned column = 0; column < shape.columns; ++column) {
    Bytes source(rng.between(min_bytes, max_bytes));
    for (std::uint8_t& byte : source)
      byte = static_cast<std::uint8_t>(rng.next());
    const std::size_t shift = rng.below(32);
    Bytes stored(shift);
    stored.insert(stored.end(), source.begin(), source.end());
    block.storage.push_back(std::move(stored));
    const ByteView all = ByteView(block.storage.back()).subspan(shift);
    const std::size_t cut = rng.chance(0.2) ? 0 : rng.between(0, all.size());
    block.pieces.push_back({all.first(cut), all.subspan(cut)});
    block.sources.push_back(std::move(source));
  }
  return block;
}

// Encodes with the fast encoder.
inline void encode(BlockEncoder& encoder, Block& block, std::size_t max_bytes) {
  encoder.open(block.shape.code, block.shape.rows, max_bytes);
  for (const SymbolPieces& pieces : block.pieces)
    ASSERT_TRUE(encoder.add(pieces));
  ASSERT_EQ(encoder.columns(), block.shape.columns);
  block.repairs.clear();
  for (unsigned row = 0; row < block.shape.rows; ++row) {
    const ByteView repair = encoder.repair(row);
    block.repairs.emplace_back(repair.begin(), repair.end());
  }
}

inline std::vector<KnownSymbol> known_except(const Block& block, const std::vector<bool>& erased) {
  std::vector<KnownSymbol> known;
  for (unsigned column = 0; column < block.shape.columns; ++column) {
    if (!erased[column]) known.push_back({column, block.pieces[column]});
  }
  return known;
}

inline std::vector<RepairSymbol> repairs_of(const Block& block, const std::vector<unsigned>& rows) {
  std::vector<RepairSymbol> repairs;
  for (const unsigned row : rows)
    repairs.push_back({row, block.repairs[row]});
  return repairs;
}

// True when `bytes` is the source symbol followed by zeros only.
inline bool is_source(const Block& block, const RecoveredSymbol& symbol) {
  Bytes padded = block.sources[symbol.column];
  padded.resize(symbol.bytes.size());
  return std::equal(padded.begin(), padded.end(), symbol.bytes.begin(), symbol.bytes.end());
}

}  // namespace weft::fec::test
