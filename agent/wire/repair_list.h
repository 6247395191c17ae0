// The list of a repair packet: which source packets a block protects, in a byte and a fingerprint each.
//
//   entries   up to 16 of (flow id 2, first PSN 3, stride 1): a flow once, or again when a step cannot be
//             expressed (backwards, or not a multiple of what the entry can reach)
//   symbols   k of (entry index 4 bits | step 4 bits, fingerprint 2), in block order
//
// The PSN of a symbol is the PSN of the entry's symbol before it (the entry's first PSN for its first, whose
// step is 0) plus step * stride. A single flow spread over d blocks has stride d and steps of 1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent/base/bytes.h"
#include "agent/wire/messages.h"

namespace weft::wire {

inline constexpr std::size_t kMaxListEntries = 16;
inline constexpr std::size_t kListEntryBytes = 6;
inline constexpr std::size_t kListSymbolBytes = 3;
inline constexpr std::size_t kRepairFixedBytes = 14;  // what precedes list and symbol in every repair body

// Collects the names of a block's source symbols as they pass, so that the block can be closed before its
// list outgrows a packet. Order of calls is block order.
class RepairListBuilder {
 public:
  // `max_list_bytes`: what encoded_bytes() may not exceed.
  explicit RepairListBuilder(std::size_t max_list_bytes) : max_list_bytes_(max_list_bytes) {}

  // Adds it. False, and nothing changes, when it cannot be named any more: close the block.
  bool add(const Repair::Source& source);
  void clear();

  std::size_t encoded_bytes() const {
    return entry_count_ * kListEntryBytes + symbols_.size() * kListSymbolBytes;
  }
  std::size_t entry_count() const { return entry_count_; }

  // Writes encoded_bytes() bytes; returns that.
  std::size_t encode(MutableByteView out) const;

 private:
  struct Entry {
    FlowId flow = 0;
    roce::Psn first_psn;
    roce::Psn last_psn;
    std::uint32_t common_divisor = 0;  // of the differences between neighbours; 0 while all are 0
    std::uint32_t longest = 0;         // the largest of them

    std::uint32_t stride() const;
    // Takes one more symbol if its PSN can be expressed; else changes nothing.
    bool extend(const Repair::Source& source);
  };
  struct Symbol {
    std::uint8_t entry = 0;
    std::uint16_t difference = 0;  // PSNs from the entry's symbol before it
    std::uint16_t fingerprint = 0;
  };
  // The entry a symbol would go to, and what that entry would become.
  struct Placement {
    std::size_t index = 0;
    Entry entry;
  };
  bool place(const Repair::Source& source, Placement& placement) const;

  std::size_t max_list_bytes_;
  std::array<Entry, kMaxListEntries> entries_;
  std::size_t entry_count_ = 0;
  std::vector<Symbol> symbols_;
};

// Bytes of a repair body with a list of `list_bytes` (0: none) and a symbol of `symbol_bytes` (0: none). The
// two go in one packet when that fits the path, else in two: one with the list, one with the symbol.
constexpr std::size_t repair_body_bytes(std::size_t list_bytes, std::size_t symbol_bytes) {
  return kRepairFixedBytes + list_bytes + symbol_bytes;
}

// Writes a repair body and returns its length. `list` is nullptr in a packet that carries only the symbol,
// and otherwise names exactly repair.k symbols; repair.symbol is empty in a packet that carries only the
// list. At least one is there. repair.sources is not looked at: decoding fills it.
std::size_t encode(const Repair& repair, const RepairListBuilder* list, MutableByteView out);

// The largest body a Weft packet may have on a path that takes IP packets of `mtu_bytes`; 0 when none fits.
std::size_t max_body_bytes(std::size_t mtu_bytes, bool ipv6);

}  // namespace weft::wire
