// Reads what an encoder sent as a receiver would: which source packet each list names, whether ordinals are
// whole, and whether the repairs give back any packet that is taken away.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "agent/fec/block_decoder.h"
#include "agent/roce/icrc.h"
#include "agent/roce/view.h"
#include "tests/support/encoder_rig.h"

namespace weft::test {

// Stream, first ordinal of the group, block.
using BlockName = std::tuple<std::uint8_t, std::uint8_t, std::uint32_t, std::uint8_t>;

struct SeenBlock {
  fec::BlockShape shape;
  std::uint8_t interleave = 1;
  bool ce_seen = false;
  std::vector<wire::Repair::Source> sources;
  std::map<unsigned, Bytes> rows;
};

class WanReader {
 public:
  explicit WanReader(const WanTraffic& wan) {
    for (const wire::Announcement& announcement : wan.announcements) {
      for (const auto& flow : announcement.flows)
        flows_[flow.id] = flow;
    }
    for (const Bytes& frame : wan.sources) {
      const auto view = roce::PacketView::parse(frame);
      sources_[{announced(view->flow_key()), view->psn().value, view->fingerprint()}] = &frame;
    }
    for (const auto& repair : wan.repairs)
      add(repair);
  }

  const std::map<BlockName, SeenBlock>& blocks() const { return blocks_; }
  const std::map<wire::FlowId, wire::Announcement::Flow>& flows() const { return flows_; }

  // The frame a list names, or nullptr.
  const Bytes* frame_of(const wire::Repair::Source& source) const {
    const auto flow = flows_.find(source.flow);
    if (flow == flows_.end()) return nullptr;
    const auto found = sources_.find({announced(flow->second.key), source.psn.value, source.fingerprint});
    return found == sources_.end() ? nullptr : found->second;
  }

  // Takes away the columns for which lost(frame) holds, and the rows for which row_lost(row) does; true when
  // all of them came back byte for byte, canonical fields aside.
  template <class Lost, class RowLost>
  bool recovers(const SeenBlock& block, Lost&& lost, RowLost&& row_lost) const {
    std::vector<fec::SourceSymbol> symbols;
    symbols.reserve(block.sources.size());
    std::vector<fec::KnownSymbol> known;
    std::map<unsigned, Bytes> expected;
    for (unsigned column = 0; column < block.sources.size(); ++column) {
      const Bytes* frame = frame_of(block.sources[column]);
      if (frame == nullptr) return false;
      const auto view = roce::PacketView::parse(*frame);
      if (lost(*frame)) {
        Bytes canonical(view->ip_packet().begin(), view->ip_packet().end());
        roce::set_exempt_fields(view->ipv6(), canonical, 0);
        expected[column] = std::move(canonical);
      } else {
        symbols.emplace_back(view->ipv6(), view->ip_packet());
        known.push_back({column, symbols.back().pieces()});
      }
    }
    std::vector<fec::RepairSymbol> repairs;
    for (const auto& [row, bytes] : block.rows) {
      if (!row_lost(row)) repairs.push_back({row, bytes});
    }
    fec::BlockDecoder decoder;
    const auto recovered = decoder.recover(block.shape, known, repairs);
    if (!recovered || recovered->size() != expected.size()) return false;
    for (const fec::RecoveredSymbol& symbol : *recovered) {
      const auto packet = fec::packet_in_symbol(symbol.bytes);
      const Bytes& wanted = expected[symbol.column];
      if (!packet || !std::equal(packet->begin(), packet->end(), wanted.begin(), wanted.end())) return false;
    }
    return true;
  }

 private:
  // VLAN tags of the key are not announced.
  static roce::FlowKey announced(roce::FlowKey key) {
    key.vids = {};
    key.vlan_count = 0;
    return key;
  }
  void add(const WanTraffic::OwnedRepair& repair) {
    const wire::Repair& value = repair.value;
    SeenBlock& block = blocks_[{value.stream.class_id, value.stream.level, value.first_ordinal, value.block}];
    block.shape = {.code = value.code, .columns = value.k, .rows = value.r};
    block.interleave = value.interleave;
    block.ce_seen = block.ce_seen || value.ce_seen;
    if (!value.sources.empty()) block.sources = value.sources;
    if (!repair.symbol.empty()) block.rows[value.index] = repair.symbol;
  }

  struct SourceName {
    roce::FlowKey key;
    std::uint32_t psn;
    std::uint16_t fingerprint;
    friend bool operator<(const SourceName& a, const SourceName& b) {
      const auto rank = [](const SourceName& n) {
        return std::tuple(n.key.src, n.key.dst, n.key.dest_qpn, n.key.response, n.psn, n.fingerprint);
      };
      return rank(a) < rank(b);
    }
  };
  std::map<wire::FlowId, wire::Announcement::Flow> flows_;
  std::map<SourceName, const Bytes*> sources_;
  std::map<BlockName, SeenBlock> blocks_;
};

}  // namespace weft::test
