// The unit a stream is coded in: `interleave` blocks filled round-robin, so that a burst of losses spreads
// over them. Symbol i of block j has ordinal first_ordinal + i * interleave + j.
//
//   open ──add── ... ──add──▶ close ──▶ repair packets, one at a time, block by block for row 0, then row 1, ...
//
// Nothing is held: a packet is added when it has been forwarded, and only its share of the parity and its name
// are kept. Buffers live as long as the object and are reused from group to group.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "agent/fec/block_encoder.h"
#include "agent/recovery/engine_io.h"
#include "agent/recovery/path_headers.h"
#include "agent/wire/messages.h"
#include "agent/wire/repair_list.h"

namespace weft::recovery {

// Largest number of blocks in a group: beyond it a burst's share of one block hardly shrinks.
inline constexpr unsigned kMaxInterleave = 16;
// Where list and symbol need a packet each, the list goes with the first rows only: lists are alike, and so
// many of them are not all lost where the code itself is not.
inline constexpr unsigned kMaxListCopies = 4;

struct GroupPlan {
  fec::CodeKind code = fec::CodeKind::kReedSolomon;
  unsigned k = 32;
  unsigned r = 4;
  unsigned interleave = 1;
  std::size_t repair_bytes = 0;  // what a full group will send, at IP level
  friend bool operator==(const GroupPlan&, const GroupPlan&) = default;
};

// One packet to be made of a closed group. List and symbol in one where that fits the path, else in two.
struct RepairPart {
  unsigned block = 0;
  unsigned row = 0;
  bool with_list = true;
  bool with_symbol = true;
};

class BlockGroup {
 public:
  // `max_body_bytes`: what a Weft packet's body may have on this path; list and symbol each stay within it.
  explicit BlockGroup(std::size_t max_body_bytes);

  // Starts an empty group. The plan is within kMaxInterleave and the code's limits.
  void open(wire::StreamId stream, std::uint32_t first_ordinal, const GroupPlan& plan, Time now);

  // Whether symbols of this size can be coded at all: what cannot is sent uncoded.
  bool symbol_fits(std::size_t symbol_bytes) const { return symbol_bytes <= max_symbol_bytes_; }
  // False, and nothing changes, when the next block's list cannot name it: close the group, and add it to the
  // next.
  [[nodiscard]] bool add(const wire::Repair::Source& source, const fec::SourceSymbol& symbol, bool ce_marked);
  // Of its newest packet. The VLAN stack is the same for all of a group.
  void note_packet(const roce::FlowKey& key, const PathHeaders& path, Time now);
  bool same_network(const roce::FlowKey& key) const {
    return packets_ == 0 || (key.vlan_count == vlan_count_ && key.vids == vids_);
  }

  std::size_t max_body_bytes() const { return max_body_bytes_; }
  bool full() const { return packets_ == plan_.k * plan_.interleave; }
  unsigned packets() const { return packets_; }
  const GroupPlan& plan() const { return plan_; }
  Time opened_at() const { return opened_at_; }
  Time last_packet_at() const { return last_packet_at_; }
  // Mean time between its packets.
  Time spacing() const {
    return packets_ > 1 ? (last_packet_at_ - opened_at_) / (packets_ - 1) : Time::zero();
  }
  const PathHeaders& path() const { return path_; }
  wire::StreamId stream() const { return stream_; }
  std::uint32_t first_ordinal() const { return first_ordinal_; }
  std::uint32_t end_ordinal() const { return first_ordinal_ + packets_; }

  // Ends the group: each block sends `rows_for(k)` repairs, at most those it has. From here on parts can be
  // made.
  template <class RowsFor>
  void close(RowsFor&& rows_for) {
    for (Block& block : used_blocks())
      block.rows_sent = std::min(rows_for(block.encoder.columns()), most_rows(block));
    list_parts();
  }
  // What to send, in order.
  const std::vector<RepairPart>& parts() const { return parts_; }
  std::size_t body_bytes(const RepairPart& part) const;
  std::size_t write_body(const RepairPart& part, MutableByteView out) const;

 private:
  struct Block {
    explicit Block(std::size_t max_list_bytes) : list(max_list_bytes) {}
    fec::BlockEncoder encoder;
    wire::RepairListBuilder list;
    bool ce_seen = false;
    unsigned rows_sent = 0;
  };
  std::span<Block> used_blocks() { return std::span(blocks_).first(std::min(plan_.interleave, packets_)); }
  unsigned most_rows(const Block& block) const;
  bool fits_one_packet(const Block& block) const;
  void list_parts();

  std::size_t max_body_bytes_;
  std::size_t max_symbol_bytes_;
  std::vector<Block> blocks_;  // grows to the largest interleave used
  std::vector<RepairPart> parts_;

  wire::StreamId stream_;
  std::uint32_t first_ordinal_ = 0;
  GroupPlan plan_;
  unsigned packets_ = 0;
  Time opened_at_{};
  Time last_packet_at_{};
  PathHeaders path_;
  std::array<std::uint16_t, roce::kMaxVlanTags> vids_{};
  std::uint8_t vlan_count_ = 0;
};

// Groups that wait to be used again. At most `max_groups` exist at a time, which bounds the memory of parity.
class BlockGroupPool {
 public:
  BlockGroupPool(std::size_t max_groups, std::size_t max_body_bytes)
      : max_groups_(max_groups), max_body_bytes_(max_body_bytes) {}

  // nullptr when all are in use.
  std::unique_ptr<BlockGroup> take();
  void give_back(std::unique_ptr<BlockGroup> group);
  // Of groups taken from now on.
  void set_max_body(std::size_t bytes);
  std::size_t in_use() const { return made_ - idle_.size(); }

 private:
  std::size_t max_groups_;
  std::size_t max_body_bytes_;
  std::size_t made_ = 0;
  std::vector<std::unique_ptr<BlockGroup>> idle_;
};

}  // namespace weft::recovery
