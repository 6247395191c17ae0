#include "agent/recovery/block_group.h"

#include <algorithm>
#include <cassert>

namespace weft::recovery {

BlockGroup::BlockGroup(std::size_t max_body_bytes)
    : max_body_bytes_(max_body_bytes),
      max_symbol_bytes_(std::min(max_body_bytes - wire::kRepairFixedBytes, wire::kMaxSymbolBytes)) {}

void BlockGroup::open(wire::StreamId stream, std::uint32_t first_ordinal, const GroupPlan& plan, Time now) {
  while (blocks_.size() < plan.interleave)
    blocks_.emplace_back(max_body_bytes_ - wire::kRepairFixedBytes);
  plan_ = plan;
  packets_ = 0;
  for (Block& block : std::span(blocks_).first(plan.interleave)) {
    block.encoder.open(plan.code, plan.r, max_symbol_bytes_);
    block.list.clear();
    block.ce_seen = false;
    block.rows_sent = 0;
  }
  parts_.clear();
  stream_ = stream;
  first_ordinal_ = first_ordinal;
  opened_at_ = now;
  last_packet_at_ = now;
}

bool BlockGroup::add(const wire::Repair::Source& source, const fec::SourceSymbol& symbol, bool ce_marked) {
  Block& block = blocks_[packets_ % plan_.interleave];
  if (!symbol_fits(symbol.bytes()) || !block.list.add(source)) return false;
  // A list ends where a block has no more columns.
  [[maybe_unused]] const bool added = block.encoder.add(symbol.pieces());
  assert(added);
  block.ce_seen = block.ce_seen || ce_marked;
  ++packets_;
  return true;
}

void BlockGroup::note_packet(const roce::FlowKey& key, const PathHeaders& path, Time now) {
  vids_ = key.vids;
  vlan_count_ = key.vlan_count;
  path_ = path;
  last_packet_at_ = now;
}

unsigned BlockGroup::most_rows(const Block& block) const {
  // XOR's row j covers the columns i with i mod r = j: rows beyond the columns are empty.
  if (plan_.code == fec::CodeKind::kXor) return std::min(plan_.r, block.encoder.columns());
  return plan_.r;
}

bool BlockGroup::fits_one_packet(const Block& block) const {
  return wire::repair_body_bytes(block.list.encoded_bytes(), block.encoder.symbol_bytes()) <= max_body_bytes_;
}

void BlockGroup::list_parts() {
  parts_.clear();
  const auto blocks = used_blocks();
  for (unsigned row = 0; row < plan_.r; ++row) {
    for (unsigned j = 0; j < blocks.size(); ++j) {
      if (row >= blocks[j].rows_sent) continue;
      if (fits_one_packet(blocks[j])) {
        parts_.push_back({.block = j, .row = row});
        continue;
      }
      parts_.push_back({.block = j, .row = row, .with_list = false, .with_symbol = true});
      if (row < kMaxListCopies)
        parts_.push_back({.block = j, .row = row, .with_list = true, .with_symbol = false});
    }
  }
}

std::size_t BlockGroup::body_bytes(const RepairPart& part) const {
  const Block& block = blocks_[part.block];
  return wire::repair_body_bytes(part.with_list ? block.list.encoded_bytes() : 0,
                                 part.with_symbol ? block.encoder.symbol_bytes() : 0);
}

std::size_t BlockGroup::write_body(const RepairPart& part, MutableByteView out) const {
  const Block& block = blocks_[part.block];
  // With XOR the number of rows is part of the code, whether or not all are sent.
  const unsigned r = plan_.code == fec::CodeKind::kXor ? plan_.r : block.rows_sent;
  const wire::Repair repair{
      .stream = stream_,
      .first_ordinal = first_ordinal_,
      .interleave = static_cast<std::uint8_t>(plan_.interleave),
      .block = static_cast<std::uint8_t>(part.block),
      .code = plan_.code,
      .k = static_cast<std::uint8_t>(block.encoder.columns()),
      .r = static_cast<std::uint8_t>(r),
      .index = static_cast<std::uint8_t>(part.row),
      .ce_seen = block.ce_seen,
      .symbol_bytes = static_cast<std::uint16_t>(block.encoder.symbol_bytes()),
      .sources = {},
      .symbol = part.with_symbol ? block.encoder.repair(part.row) : ByteView(),
  };
  return wire::encode(repair, part.with_list ? &block.list : nullptr, out);
}

std::unique_ptr<BlockGroup> BlockGroupPool::take() {
  if (!idle_.empty()) {
    std::unique_ptr<BlockGroup> group = std::move(idle_.back());
    idle_.pop_back();
    return group;
  }
  if (made_ == max_groups_) return nullptr;
  ++made_;
  return std::make_unique<BlockGroup>(max_body_bytes_);
}

void BlockGroupPool::give_back(std::unique_ptr<BlockGroup> group) {
  if (group->max_body_bytes() == max_body_bytes_) {
    idle_.push_back(std::move(group));
  } else {
    --made_;
  }
}

void BlockGroupPool::set_max_body(std::size_t bytes) {
  if (bytes == max_body_bytes_) return;
  max_body_bytes_ = bytes;
  made_ -= idle_.size();
  idle_.clear();
}

}  // namespace weft::recovery
