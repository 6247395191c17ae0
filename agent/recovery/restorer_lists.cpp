// What the peer says it sent: announcements, manifests and the lists of repairs; and the recovery of what is missing.
#include <algorithm>

#include "agent/recovery/ordinal.h"
#include "agent/recovery/rebuild.h"
#include "agent/recovery/restorer.h"

namespace weft::recovery {
namespace {

using roce::Psn;

bool is_older_epoch(std::uint8_t epoch, std::uint8_t than) {
  return static_cast<std::int8_t>(epoch - than) < 0;
}

bool well_formed(const wire::Repair& repair) {
  return repair.k >= 1 && repair.k <= fec::kMaxColumns && repair.r >= 1 && repair.r <= fec::kMaxRows &&
         repair.index < repair.r && repair.interleave >= 1 && repair.block < repair.interleave &&
         (repair.sources.empty() || repair.sources.size() == repair.k) &&
         (repair.symbol.empty() || repair.symbol.size() == repair.symbol_bytes);
}

}  // namespace

bool Restorer::known_stream(wire::StreamId stream) const {
  return stream.class_id < policy_.classes.size() && stream.level < kLevels;
}

void Restorer::on_announcement(const wire::Announcement& announcement, const roce::VlanStack& vlans,
                               Time now) {
  for (const wire::Announcement::Flow& announced : announcement.flows) {
    if (!known_stream(announced.stream)) continue;
    roce::FlowKey key = announced.key;
    key.vlan_count = vlans.count;
    for (std::size_t i = 0; i < vlans.count; ++i)
      key.vids[i] = vlans.tags[i].vid();

    RxFlow* flow = flows_.find(key);
    if (flow == nullptr) {
      flow = flows_.add(key);
      if (flow == nullptr) {
        counters_.add(Event::kFlowRefused, announced.stream.class_id);
        continue;
      }
      if (!key.response) pairing_.add_request_flow(*flow);
    }
    if (!housekeeping_at_) housekeeping_at_ = now;
    flow->last_packet_at = now;
    ids_.learn(announced.id, {.flow = flow->handle, .wire_epoch = announced.epoch});
    if (flow->announced && is_older_epoch(announced.epoch, flow->wire_epoch)) continue;
    if (flow->announced && announced.epoch != flow->wire_epoch && flow->epoch_agreed) {
      // The sender saw the queue pair start over. What is held was the old life's.
      count(Event::kSourceEpochChange, *flow);
      send_all_held(*flow);
      flow->order.restart();
      begin_epoch(*flow);
    }
    const bool news = !flow->announced || !(flow->stream == announced.stream);
    flow->announced = true;
    flow->stream = announced.stream;
    flow->wire_epoch = announced.epoch;
    flow->epoch_agreed = true;
    if (news) tell_announced(*flow, now);
  }
}

void Restorer::on_manifest(const wire::Manifest& manifest, Time now) {
  if (!known_stream(manifest.stream)) {
    counters_.add(Event::kManifestMalformed, kClassExact);
    return;
  }
  counters_.add(Event::kManifestReceived, manifest.stream.class_id);
  RxStream& stream = streams_[manifest.stream];
  std::uint32_t ordinal = manifest.first_ordinal;
  Time oldest = now;
  for (const wire::Manifest::Run& run : manifest.runs) {
    const FlowIds::Meaning* meaning = ids_.find(run.flow);
    RxFlow* flow = meaning == nullptr ? nullptr : flows_.find(meaning->flow);
    if (flow == nullptr || meaning->wire_epoch != flow->wire_epoch || !flow->epoch_agreed) {
      counters_.add(Event::kManifestUnknownFlow, manifest.stream.class_id);
      ordinal += run.packets;
      continue;
    }
    for (std::uint32_t i = 0; i < run.packets; ++i, ++ordinal) {
      // A tail is told more than once, and by repairs too.
      if (stream.judge.fate(ordinal) != LossJudge::Fate::kUnknown) continue;
      const Psn psn = run.first_psn + i;
      Arrivals::Record* record = arrivals_.find_unlisted(flow->handle, psn);
      if (record != nullptr && record->epoch == flow->epoch) {
        record->listed = true;
        record->ordinal = ordinal;
        oldest = std::min(oldest, record->at);
        stream.judge.judge(ordinal, LossJudge::Fate::kReceived);
        continue;
      }
      const LossJudge::Fate fate = fate_of_missing(*flow, psn, now);
      if (fate == LossJudge::Fate::kLost) counters_.add(Event::kLostPackets, manifest.stream.class_id);
      stream.judge.judge(ordinal, fate);
      note_missing({.name = {flow->handle, psn, 0},
                    .epoch = flow->epoch,
                    .from_manifest = true,
                    .stream = manifest.stream,
                    .ordinal = ordinal,
                    .block = kNoBlock,
                    .column = 0,
                    .hopeless = false,
                    .listed_at = now},
                   now);
    }
  }
  for (const wire::MessageDescriptor& descriptor : manifest.descriptors) {
    const FlowIds::Meaning* meaning = ids_.find(descriptor.flow);
    RxFlow* flow = meaning == nullptr ? nullptr : flows_.find(meaning->flow);
    if (flow == nullptr || meaning->wire_epoch != flow->wire_epoch || !flow->epoch_agreed) continue;
    flow->messages.add(descriptor);
    if (flow->gap_since) resolve(*flow, now);
  }
  if (oldest < now) stream.span.observe(now - oldest, now);
  if (ordinal != manifest.first_ordinal) {
    stream.judge.list_ended(ordinal, now, stream.span.wait(reorder_.value(), hold_bound()));
  }
}

void Restorer::on_repair(const wire::Repair& repair, Time now) {
  if (!known_stream(repair.stream) || !well_formed(repair)) {
    counters_.add(Event::kRepairMalformed, kClassExact);
    return;
  }
  const ClassId class_id = repair.stream.class_id;
  counters_.add(Event::kRepairReceived, class_id);
  const auto slot = blocks_.open(repair, now, [&](std::uint32_t oldest) {
    counters_.add(Event::kBlockEvicted, blocks_[oldest].key.stream.class_id);
    forget_block_references(oldest);
  });
  if (!slot) {
    counters_.add(Event::kRepairMalformed, class_id);
    return;
  }
  RxStream& stream = streams_[repair.stream];
  Block& block = blocks_[*slot];
  const bool first_copy = block.symbols.empty() || repair.index > block.newest_row;
  block.newest_row = std::max<unsigned>(block.newest_row, repair.index);
  block.ce_seen |= repair.ce_seen;
  stream.last_repair_at = now;
  if (block.state == Block::State::kNoList && !repair.sources.empty())
    take_list(block, *slot, repair, stream, now);
  const bool of_use =
      block.waiting() && (repair.symbol.empty() || blocks_.add_symbol(block, repair.index, repair.symbol));
  if (!of_use) counters_.add(Event::kRepairUnused, class_id);
  if (first_copy && block.oldest_arrival) stream.span.observe(now - *block.oldest_arrival, now);
  give_up_older_blocks(block, now);
  try_decode(*slot, now);
}

// Judges every packet of the block. Nothing is taken when a flow's announcement has not come yet: the next repair of
// the block has the list again.
void Restorer::take_list(Block& block, std::uint32_t slot, const wire::Repair& repair, RxStream& stream,
                         Time now) {
  block.sources.clear();
  block.epochs.clear();
  for (const wire::Repair::Source& source : repair.sources) {
    const FlowIds::Meaning* meaning = ids_.find(source.flow);
    const RxFlow* flow = meaning == nullptr ? nullptr : flows_.find(meaning->flow);
    if (flow == nullptr) {
      counters_.add(Event::kRepairUnknownFlow, repair.stream.class_id);
      return;
    }
    const bool current = meaning->wire_epoch == flow->wire_epoch && flow->epoch_agreed;
    block.sources.push_back({flow->handle, source.psn, source.fingerprint});
    block.epochs.push_back(current ? flow->epoch : kNoEpoch);
  }
  block.state = Block::State::kPending;
  for (unsigned column = 0; column < block.shape.columns; ++column) {
    const SourceName& name = block.sources[column];
    const std::uint32_t ordinal = block.ordinal(column);
    Arrivals::Record* record = arrivals_.find(name);
    if (record != nullptr) {
      if (block.epochs[column] == kNoEpoch) adopt_epoch(name, *record);
      record->listed = true;
      record->ordinal = ordinal;
      block.oldest_arrival = std::min(block.oldest_arrival.value_or(now), record->at);
      stream.judge.judge(ordinal, LossJudge::Fate::kReceived);
      continue;
    }
    block.missing.set(column);
    const LossJudge::Fate fate = fate_of_missing(*flows_.find(name.flow), name.psn, now);
    if (fate == LossJudge::Fate::kLost && stream.judge.fate(ordinal) == LossJudge::Fate::kUnknown)
      counters_.add(Event::kLostPackets, block.key.stream.class_id);
    stream.judge.judge(ordinal, fate);
    note_missing({.name = name,
                  .epoch = block.epochs[column],
                  .from_manifest = false,
                  .stream = block.key.stream,
                  .ordinal = ordinal,
                  .block = slot,
                  .column = static_cast<std::uint8_t>(column),
                  .hopeless = false,
                  .listed_at = now},
                 now);
  }
  stream.judge.list_ended(block.end_ordinal(), now, stream.span.wait(reorder_.value(), hold_bound()));
  if (block.missing.none()) release_block_frames(block);
}

// This side thought the order began anew while the sender's did not (a gap too long to wait for): a list that names
// what has arrived since shows that both mean the same.
void Restorer::adopt_epoch(const SourceName& name, const Arrivals::Record& record) {
  RxFlow* flow = flows_.find(name.flow);
  if (flow != nullptr && record.epoch == flow->epoch) flow->epoch_agreed = flow->announced;
}

void Restorer::release_block_frames(const Block& block) {
  for (const SourceName& name : block.sources) {
    if (Arrivals::Record* record = arrivals_.find(name); record != nullptr) arrivals_.drop_frame(*record);
  }
}

void Restorer::note_missing(const MissingPacket& packet, Time now) {
  if (!missing_.add(packet)) counters_.add(Event::kMissingEvicted, packet.stream.class_id);
  RxFlow* flow = flows_.find(packet.name.flow);
  if (flow == nullptr || packet.epoch != flow->epoch || !flow->ordered()) return;
  const Psn until = packet.name.psn + 1;
  const Psn from = flow->order.next();
  const std::int32_t ahead = roce::psn_distance(from, until);
  if (!flow->order.started() || ahead <= 0 || ahead > static_cast<std::int32_t>(kMaxGapPackets)) return;
  if (!flow->proven_until || roce::psn_before(*flow->proven_until, until)) flow->proven_until = until;
  update_gap(*flow, now);
  if (flow->gap_since) flow->look_at = std::min(flow->look_at, now);
}

void Restorer::try_decode(std::uint32_t slot, Time now) {
  Block& block = blocks_[slot];
  if (block.state != Block::State::kPending) return;
  if (block.missing.any() && !block.symbols.empty() &&
      (block.symbols.size() >= block.missing.count() || block.shape.code == fec::CodeKind::kXor)) {
    // Delivering moves flows on, which looks at gaps, but never opens or forgets a block.
    for (const RecoveredPacket& packet : blocks_.decode(block, arrivals_, io_)) {
      missing_.remove(packet.name, slot);
      deliver_recovered(packet, now);
    }
  }
  if (block.missing.none()) {
    release_block_frames(block);
    blocks_.finish(slot, Block::State::kDone);
    return;
  }
  plan_give_up(block, now);
}

void Restorer::deliver_recovered(const RecoveredPacket& packet, Time now) {
  RxFlow* flow = flows_.find(packet.name.flow);
  if (flow == nullptr) return;
  const auto view = roce::PacketView::parse_ip(packet.ip_packet);
  if (!view || !view->icrc_ok() || view->psn() != packet.name.psn ||
      view->fingerprint() != packet.name.fingerprint || view->dest_qpn() != flow->key.dest_qpn ||
      view->op().is_response() != flow->key.response || view->src_address() != flow->key.src ||
      view->dst_address() != flow->key.dst) {
    count(Event::kRecoveredBadIcrc, *flow);
    return;
  }
  count(Event::kRecovered, *flow);
  count(Event::kRecoveredBytes, *flow, packet.ip_packet.size());
  if (packet.epoch != flow->epoch || !flow->epoch_agreed) {
    count(Event::kRecoveredOldEpoch, *flow);
    return;
  }
  const bool in_order = flow->ordered();
  if (in_order ? !flow->order.wants(packet.name.psn) : recovered_.contains(packet.name)) {
    count(Event::kRecoveredTooLate, *flow);
    return;
  }
  const std::optional<FrameId> frame =
      flow->path.known() ? rebuild_frame(io_, flow->path, packet.ip_packet, packet.ce_seen) : std::nullopt;
  if (!frame) {
    count(Event::kRecoveryNoFrame, *flow);
    return;
  }
  recovery_latency_.add(flow->gap_since ? now - *flow->gap_since : Time::zero());
  recovered_.add(packet.name);
  arrivals_.add(packet.name, flow->epoch, *frame, false, now);
  if (Arrivals::Record* record = arrivals_.find(packet.name); record != nullptr) {
    record->listed = true;
    record->ordinal = packet.ordinal;
  }
  if (!in_order) {
    io_.send(Port::kLan, *frame);
    return;
  }
  if (!flow->held.empty() && packet.name.psn == missing_psn(*flow)) count(Event::kHeldClosedByFec, *flow);
  OrderFacts facts = OrderFacts::of(*view);
  facts.resent =
      roce::psn_before(packet.name.psn, flow->order.next());  // wanted all the same: a rewind is expected
  put_in_order(*flow, HeldPacket::of(*view, facts, *frame, now), Origin::kRecovered, now);
}

// The newest row of a block is sent last: what is missing beyond the repairs that may still come is not coming, but
// for packets and repairs that are late.
void Restorer::plan_give_up(Block& block, Time now) {
  if (block.missing.count() > block.possible_repairs()) {
    block.give_up_at = std::min(block.give_up_at, now + reorder_.value());
  }
}

// Groups are sent one after the other.
void Restorer::give_up_older_blocks(const Block& newer, Time now) {
  RxStream& stream = streams_[newer.key.stream];
  if (ordinal_distance(stream.newest_group, newer.key.first_ordinal) <= 0 && stream.group_seen) return;
  stream.group_seen = true;
  stream.newest_group = newer.key.first_ordinal;
  for (const std::uint32_t slot : blocks_.waiting()) {
    Block& block = blocks_[slot];
    if (block.key.stream != newer.key.stream ||
        ordinal_distance(block.key.first_ordinal, newer.key.first_ordinal) <= 0) {
      continue;
    }
    block.give_up_at = std::min(block.give_up_at, now + reorder_.value());
  }
}

void Restorer::give_up_block(std::uint32_t slot, Time now) {
  Block& block = blocks_[slot];
  block.hopeless = true;
  for (unsigned column = 0; column < block.sources.size(); ++column) {
    if (!block.missing[column]) continue;
    missing_.set_hopeless(block.sources[column], slot);
    look_again(block.sources[column], now);
  }
}

void Restorer::fail_block(std::uint32_t slot, Time now) {
  Block& block = blocks_[slot];
  counters_.add(Event::kBlockUndecodable, block.key.stream.class_id);
  for (unsigned column = 0; column < block.sources.size(); ++column) {
    const bool lost = streams_[block.key.stream].judge.fate(block.ordinal(column)) == LossJudge::Fate::kLost;
    if (block.missing[column] && lost) ++losses_.undecodable_packets;
  }
  if (!block.hopeless) give_up_block(slot, now);
  blocks_.finish(slot, Block::State::kFailed);
  release_block_frames(block);
}

void Restorer::forget_block_references(std::uint32_t slot) {
  const Block& block = blocks_[slot];
  for (unsigned column = 0; column < block.sources.size(); ++column) {
    if (block.missing[column]) missing_.remove(block.sources[column], slot);
  }
}

void Restorer::look_again(const SourceName& name, Time now) {
  RxFlow* flow = flows_.find(name.flow);
  if (flow != nullptr && flow->gap_since) resolve(*flow, now);
}

}  // namespace weft::recovery
