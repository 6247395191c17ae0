// The blocks whose repairs have arrived: their lists, which of their packets are missing, and their repair symbols
// for as long as one may be needed. A block that lost nothing costs its list and nothing else.
//
//   no list ──list──▶ pending ──enough repairs──▶ done      (nothing missing: done at once)
//       └────────────────┴──────age──▶ failed
//
// Bounded in blocks and in bytes of symbols kept; the oldest block gives way. Trusts no number in a repair beyond
// what the codec has checked.
#pragma once

#include <bitset>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "agent/fec/block_decoder.h"
#include "agent/recovery/arrivals.h"
#include "agent/recovery/engine_io.h"
#include "agent/wire/messages.h"

namespace weft::recovery {

struct BlockKey {
  wire::StreamId stream;
  std::uint32_t first_ordinal = 0;  // of the group
  std::uint8_t block = 0;
  friend bool operator==(const BlockKey&, const BlockKey&) = default;
};

struct Block {
  enum class State : std::uint8_t { kNoList, kPending, kDone, kFailed };
  struct Symbol {
    unsigned row = 0;
    Bytes bytes;
  };

  BlockKey key;
  std::uint8_t interleave = 1;
  fec::BlockShape shape;
  std::uint16_t symbol_bytes = 0;
  bool ce_seen = false;
  State state = State::kNoList;
  std::vector<SourceName> sources;  // by column, once listed
  std::vector<std::uint32_t> epochs;
  std::bitset<fec::kMaxColumns> missing;
  std::vector<Symbol> symbols;
  unsigned newest_row = 0;             // repairs are sent in order of their rows
  std::optional<Time> oldest_arrival;  // among its packets
  // First nothing is to be expected any more: gaps stop waiting for it. It stays, since the repairs of a tail are sent
  // again, until it is too old to be of use.
  bool hopeless = false;
  Time give_up_at{};
  Time expires_at{};

  std::uint32_t ordinal(unsigned column) const { return key.first_ordinal + column * interleave + key.block; }
  // One past the newest ordinal of the block.
  std::uint32_t end_ordinal() const { return ordinal(shape.columns - 1) + 1; }
  bool waiting() const { return state == State::kNoList || state == State::kPending; }
  // Repairs at hand and repairs that may still come.
  std::size_t possible_repairs() const { return symbols.size() + (shape.rows - 1 - newest_row); }
};

struct RecoveredPacket {
  SourceName name;
  std::uint32_t epoch = 0;
  std::uint32_t ordinal = 0;
  bool ce_seen = false;
  ByteView ip_packet;  // canonical; empty when the symbol holds no packet
};

class BlockStore {
 public:
  // Called with a block that is about to be forgotten, so that nothing keeps referring to its slot.
  BlockStore(std::size_t max_blocks, std::size_t max_symbol_bytes);

  // The block of this repair, opened if it is new; nullopt when the repair contradicts what is known of it. When
  // room must be made, `evicted` is told the oldest block's slot first.
  template <class Evicted>
  std::optional<std::uint32_t> open(const wire::Repair& repair, Time now, Evicted&& evicted) {
    const BlockKey key{repair.stream, repair.first_ordinal, repair.block};
    if (const auto it = index_.find(key); it != index_.end()) {
      if (!agrees(slots_[it->second], repair)) return std::nullopt;
      return it->second;
    }
    while (in_use_.size() >= slots_.size() || symbol_bytes_ > max_symbol_bytes_) {
      evicted(in_use_.front());
      forget(in_use_.front());
    }
    return add(key, repair, now);
  }

  Block& operator[](std::uint32_t slot) { return slots_[slot]; }
  const Block& operator[](std::uint32_t slot) const { return slots_[slot]; }
  // Blocks in the order they were opened.
  const std::deque<std::uint32_t>& in_use() const { return in_use_; }

  // Those that still wait for something, in no order.
  const std::vector<std::uint32_t>& waiting() const { return waiting_; }

  // Keeps a copy of the repair symbol. False when that row is there already.
  bool add_symbol(Block& block, unsigned row, ByteView bytes);
  void drop_symbols(Block& block);
  // No more to be expected of this block.
  void finish(std::uint32_t slot, Block::State state);
  void forget(std::uint32_t slot);
  void clear();

  // Recovers what can be recovered. Packets that arrived but whose frames are no longer kept count as erased. The
  // packets' bytes are valid until the next call; columns recovered are no longer missing.
  std::span<const RecoveredPacket> decode(Block& block, Arrivals& arrivals, FrameIo& io);

 private:
  struct KeyHash {
    std::size_t operator()(const BlockKey& key) const {
      return (std::size_t{key.first_ordinal} << 16 ^ std::size_t{key.block} << 8 ^
              std::size_t{key.stream.class_id} << 3 ^ key.stream.level) *
             0x9e3779b97f4a7c15U;
    }
  };
  // However its repairs are spread: later than any hold they are of no use.
  static constexpr Time kMaxAge = std::chrono::milliseconds(200);

  static bool agrees(const Block& block, const wire::Repair& repair);
  std::uint32_t add(const BlockKey& key, const wire::Repair& repair, Time now);

  std::size_t max_symbol_bytes_;
  std::size_t symbol_bytes_ = 0;
  std::vector<Block> slots_;  // their vectors keep their capacity from block to block
  std::vector<std::uint32_t> free_;
  std::deque<std::uint32_t> in_use_;
  std::vector<std::uint32_t> waiting_;
  std::unordered_map<BlockKey, std::uint32_t, KeyHash> index_;

  fec::BlockDecoder decoder_;
  std::vector<fec::SourceSymbol> source_symbols_;
  std::vector<fec::KnownSymbol> known_;
  std::vector<fec::RepairSymbol> repairs_;
  std::vector<RecoveredPacket> recovered_;
};

}  // namespace weft::recovery
