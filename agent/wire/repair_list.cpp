#include "agent/wire/repair_list.h"

#include <algorithm>
#include <numeric>

#include "agent/base/copy_bytes.h"
#include "agent/roce/headers.h"
#include "agent/wire/field_codec.h"
#include "agent/wire/format.h"

namespace weft::wire {

namespace {

constexpr std::uint32_t kMaxStep = 15;     // four bits
constexpr std::uint32_t kMaxStride = 255;  // one byte

constexpr std::uint8_t kCodeMask = 0x0f;
constexpr std::uint8_t kFlagCeSeen = 0x10;
constexpr std::uint8_t kFlagList = 0x20;
constexpr std::uint8_t kFlagSymbol = 0x40;
constexpr std::uint8_t kFlagReserved = 0x80;

struct ListEntry {
  FlowId flow = 0;
  roce::Psn psn;  // of the newest symbol
  std::uint8_t stride = 0;
  bool used = false;
};

Result<std::vector<Repair::Source>> decode_list(ByteReader& reader, std::size_t entry_count, std::size_t k) {
  std::array<ListEntry, kMaxListEntries> entries;
  for (ListEntry& entry : std::span(entries).first(entry_count)) {
    entry.flow = reader.u16();
    entry.psn = roce::Psn(reader.u24());
    entry.stride = reader.u8();
  }
  if (!reader.ok() || reader.left() < k * kListSymbolBytes) return truncated("repair list");
  std::vector<Repair::Source> sources(k);
  for (Repair::Source& source : sources) {
    const std::uint8_t name = reader.u8();
    const std::size_t index = name >> 4;
    const std::uint32_t step = name & kMaxStep;
    if (index >= entry_count) return fail("a symbol names a flow entry that is not there", "repair list");
    ListEntry& entry = entries[index];
    if (!entry.used && step != 0) return fail("the first symbol of a flow entry has a step", "repair list");
    entry.used = true;
    entry.psn += step * entry.stride;
    source = {.flow = entry.flow, .psn = entry.psn, .fingerprint = reader.u16()};
  }
  const auto listed = std::span(entries).first(entry_count);
  if (!std::ranges::all_of(listed, &ListEntry::used)) {
    return fail("a flow entry has no symbol", "repair list");
  }
  return sources;
}

}  // namespace

std::uint32_t RepairListBuilder::Entry::stride() const {
  if (common_divisor <= kMaxStride) return common_divisor;
  std::uint32_t divisor = kMaxStride;
  while (common_divisor % divisor != 0)
    --divisor;
  return divisor;
}

bool RepairListBuilder::Entry::extend(const Repair::Source& source) {
  const std::int32_t distance = roce::psn_distance(last_psn, source.psn);
  if (flow != source.flow || distance < 0) return false;
  const auto difference = static_cast<std::uint32_t>(distance);
  // gcd(0, x) = x: the second PSN of an entry sets its stride; later ones can only make it finer. Most do not.
  Entry extended = *this;
  if (difference != common_divisor) {
    extended.common_divisor = std::gcd(common_divisor, difference);
    extended.longest = std::max(longest, difference);
    if (extended.longest > kMaxStep * extended.stride()) return false;
  }
  extended.last_psn = source.psn;
  *this = extended;
  return true;
}

bool RepairListBuilder::place(const Repair::Source& source, Placement& placement) const {
  if (symbols_.size() == fec::kMaxColumns) return false;
  for (std::size_t i = entry_count_; i-- > 0;) {
    placement = {.index = i, .entry = entries_[i]};
    if (placement.entry.extend(source)) return encoded_bytes() + kListSymbolBytes <= max_list_bytes_;
  }
  placement = {.index = entry_count_,
               .entry = {.flow = source.flow, .first_psn = source.psn, .last_psn = source.psn}};
  return entry_count_ < kMaxListEntries &&
         encoded_bytes() + kListEntryBytes + kListSymbolBytes <= max_list_bytes_;
}

bool RepairListBuilder::add(const Repair::Source& source) {
  Placement placement;
  if (!place(source, placement)) return false;
  const bool is_new = placement.index == entry_count_;
  const std::int32_t difference =
      is_new ? 0 : roce::psn_distance(entries_[placement.index].last_psn, source.psn);
  entries_[placement.index] = placement.entry;
  if (is_new) ++entry_count_;
  symbols_.push_back({.entry = static_cast<std::uint8_t>(placement.index),
                      .difference = static_cast<std::uint16_t>(difference),
                      .fingerprint = source.fingerprint});
  return true;
}

void RepairListBuilder::clear() {
  entry_count_ = 0;
  symbols_.clear();
}

std::size_t RepairListBuilder::encode(MutableByteView out) const {
  ByteWriter writer(out);
  std::array<std::uint8_t, kMaxListEntries> strides{};
  for (std::size_t i = 0; i < entry_count_; ++i) {
    strides[i] = static_cast<std::uint8_t>(entries_[i].stride());
    writer.u16(entries_[i].flow);
    writer.u24(entries_[i].first_psn.value);
    writer.u8(strides[i]);
  }
  for (const Symbol& symbol : symbols_) {
    const std::uint32_t step = symbol.difference == 0 ? 0 : symbol.difference / strides[symbol.entry];
    writer.u8(static_cast<std::uint8_t>(symbol.entry << 4 | step));
    writer.u16(symbol.fingerprint);
  }
  return writer.written();
}

std::size_t encode(const Repair& repair, const RepairListBuilder* list, MutableByteView out) {
  ByteWriter writer(out);
  writer.u8(pack_stream(repair.stream));
  writer.u8(static_cast<std::uint8_t>(
      static_cast<unsigned>(repair.code) | (repair.ce_seen ? kFlagCeSeen : 0U) |
      (list != nullptr ? kFlagList : 0U) | (repair.symbol.empty() ? 0U : kFlagSymbol)));
  writer.u8(repair.interleave);
  writer.u8(repair.block);
  writer.u8(repair.k);
  writer.u8(repair.r);
  writer.u8(repair.index);
  writer.u8(list != nullptr ? static_cast<std::uint8_t>(list->entry_count()) : std::uint8_t{0});
  writer.u32(repair.first_ordinal);
  writer.u16(repair.symbol_bytes);
  std::size_t written = writer.written();
  if (list != nullptr) written += list->encode(out.subspan(written));
  copy_bytes(repair.symbol, out.data() + written);
  return written + repair.symbol.size();
}

Result<Repair> decode_repair(ByteView body) {
  ByteReader reader(body);
  const std::uint8_t stream = reader.u8();
  const std::uint8_t flags = reader.u8();
  Repair repair;
  repair.stream = unpack_stream(stream);
  repair.code = static_cast<CodeKind>(flags & kCodeMask);
  repair.ce_seen = (flags & kFlagCeSeen) != 0;
  repair.interleave = reader.u8();
  repair.block = reader.u8();
  repair.k = reader.u8();
  repair.r = reader.u8();
  repair.index = reader.u8();
  const std::size_t entry_count = reader.u8();
  repair.first_ordinal = reader.u32();
  repair.symbol_bytes = reader.u16();
  if (!reader.ok()) return truncated("repair");

  const bool has_list = (flags & kFlagList) != 0;
  const bool has_symbol = (flags & kFlagSymbol) != 0;
  if (!stream_is_valid(stream) || (flags & kFlagReserved) != 0) return reserved("repair");
  if (repair.code != CodeKind::kReedSolomon && repair.code != CodeKind::kXor)
    return fail("unknown code", "repair");
  if (repair.block >= repair.interleave) return fail("block is not below interleave", "repair");
  if (repair.k == 0 || repair.k > fec::kMaxColumns) return fail("k is 0 or exceeds 224", "repair");
  if (repair.r == 0 || repair.r > fec::kMaxRows) return fail("r is 0 or exceeds 32", "repair");
  if (repair.index >= repair.r) return fail("index is not below r", "repair");
  if (repair.symbol_bytes == 0 || repair.symbol_bytes > kMaxSymbolBytes) {
    return fail("symbol size is 0 or exceeds 9216", "repair");
  }
  if (!has_list && !has_symbol) return fail("neither list nor symbol", "repair");
  if (has_list != (entry_count > 0) || entry_count > kMaxListEntries) {
    return fail("impossible number of flow entries", "repair");
  }

  if (has_list) {
    auto sources = decode_list(reader, entry_count, repair.k);
    if (!sources) return fail(sources.error());
    repair.sources = std::move(*sources);
  }
  if (has_symbol) repair.symbol = reader.bytes(repair.symbol_bytes);
  if (!reader.ok()) return truncated("repair");
  if (!reader.at_end()) return trailing("repair");
  return repair;
}

std::size_t max_body_bytes(std::size_t mtu_bytes, bool ipv6) {
  const std::size_t overhead =
      (ipv6 ? roce::kIpv6Bytes : roce::kIpv4Bytes) + roce::kUdpBytes + kEnvelopeBytes;
  return mtu_bytes > overhead ? mtu_bytes - overhead : 0;
}

}  // namespace weft::wire
