#include "agent/recovery/block_store.h"

#include <algorithm>

#include "agent/roce/view.h"

namespace weft::recovery {

BlockStore::BlockStore(std::size_t max_blocks, std::size_t max_symbol_bytes)
    : max_symbol_bytes_(max_symbol_bytes), slots_(std::max<std::size_t>(max_blocks, 1)) {
  free_.reserve(slots_.size());
  for (std::size_t slot = slots_.size(); slot-- > 0;)
    free_.push_back(static_cast<std::uint32_t>(slot));
  index_.reserve(slots_.size());
}

bool BlockStore::agrees(const Block& block, const wire::Repair& repair) {
  return block.shape.columns == repair.k && block.shape.rows == repair.r &&
         block.shape.code == static_cast<fec::CodeKind>(repair.code) &&
         block.interleave == repair.interleave && block.symbol_bytes == repair.symbol_bytes;
}

std::uint32_t BlockStore::add(const BlockKey& key, const wire::Repair& repair, Time now) {
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  Block& block = slots_[slot];
  block.key = key;
  block.interleave = repair.interleave;
  block.shape = {.code = static_cast<fec::CodeKind>(repair.code), .columns = repair.k, .rows = repair.r};
  block.symbol_bytes = repair.symbol_bytes;
  block.ce_seen = repair.ce_seen;
  block.state = Block::State::kNoList;
  block.sources.clear();
  block.epochs.clear();
  block.missing.reset();
  block.newest_row = repair.index;
  block.oldest_arrival.reset();
  block.hopeless = false;
  block.give_up_at = block.expires_at = now + kMaxAge;
  in_use_.push_back(slot);
  waiting_.push_back(slot);
  index_.emplace(key, slot);
  return slot;
}

bool BlockStore::add_symbol(Block& block, unsigned row, ByteView bytes) {
  if (std::ranges::find(block.symbols, row, &Block::Symbol::row) != block.symbols.end()) return false;
  block.symbols.push_back({row, Bytes(bytes.begin(), bytes.end())});
  symbol_bytes_ += bytes.size();
  return true;
}

void BlockStore::drop_symbols(Block& block) {
  for (const Block::Symbol& symbol : block.symbols)
    symbol_bytes_ -= symbol.bytes.size();
  block.symbols.clear();
}

void BlockStore::finish(std::uint32_t slot, Block::State state) {
  slots_[slot].state = state;
  drop_symbols(slots_[slot]);
  std::erase(waiting_, slot);
}

void BlockStore::forget(std::uint32_t slot) {
  finish(slot, Block::State::kFailed);
  index_.erase(slots_[slot].key);
  in_use_.erase(std::ranges::find(in_use_, slot));  // the front one, but for clear()
  free_.push_back(slot);
}

void BlockStore::clear() {
  while (!in_use_.empty())
    forget(in_use_.front());
}

std::span<const RecoveredPacket> BlockStore::decode(Block& block, Arrivals& arrivals, FrameIo& io) {
  recovered_.clear();
  source_symbols_.clear();
  known_.clear();
  repairs_.clear();
  // The pieces refer into the symbols: those must not move.
  source_symbols_.reserve(fec::kMaxColumns);
  for (unsigned column = 0; column < block.shape.columns; ++column) {
    if (block.missing[column]) continue;
    const Arrivals::Record* record = arrivals.find(block.sources[column]);
    if (record == nullptr || !record->has_frame) continue;
    const auto view = roce::PacketView::parse(io.bytes(record->frame));
    if (!view) continue;
    source_symbols_.emplace_back(view->ipv6(), view->ip_packet());
    if (source_symbols_.back().bytes() > block.symbol_bytes) continue;
    known_.push_back({column, source_symbols_.back().pieces()});
  }
  for (const Block::Symbol& symbol : block.symbols)
    repairs_.push_back({symbol.row, symbol.bytes});

  const auto decoded = decoder_.recover(block.shape, known_, repairs_);
  if (!decoded) return {};
  for (const fec::RecoveredSymbol& symbol : *decoded) {
    if (!block.missing[symbol.column]) continue;  // it arrived; only its frame was gone
    block.missing.reset(symbol.column);
    recovered_.push_back({.name = block.sources[symbol.column],
                          .epoch = block.epochs[symbol.column],
                          .ordinal = block.ordinal(symbol.column),
                          .ce_seen = block.ce_seen,
                          .ip_packet = fec::packet_in_symbol(symbol.bytes).value_or(ByteView())});
  }
  return recovered_;
}

}  // namespace weft::recovery
