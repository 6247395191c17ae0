#include "tests/property/restorer_rig.h"

#include <algorithm>
#include <cstdio>

#include <gtest/gtest.h>

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using recovery::Port;
using recovery::Time;
using roce::Opcode;
using roce::Psn;

constexpr std::uint32_t kPmtu = 256;
constexpr std::size_t kWindow = 512;
constexpr Time kTimeout = 67ms;

}  // namespace

RestorerRig::RestorerRig(const RigOptions& options, std::uint64_t seed) : options_(options), rng_(seed) {
  restorer_ = std::make_unique<recovery::Restorer>(pool_, policy_, options.limits, counters_, *this);
  policy_.min_fill_message_bytes = options.min_fill_message_packets * kPmtu;
  if (options.fill_budget) {
    for (recovery::LevelPolicy& level : policy_.classes[options.class_id].levels)
      level.fill_budget = *options.fill_budget;
  }
  restorer_->set_rtt(options.one_way * 2, options.one_way * 2);
  hold_bound_ = restorer_->hold_bound();
  pool_.set_sink([this](Port port, recovery::FrameId frame, ByteView bytes) {
    ASSERT_EQ(port, Port::kLan);
    if (const auto it = received_at_.find(frame.value); it != received_at_.end()) {
      longest_hold_ = std::max(longest_hold_, now_ - it->second);
      received_at_.erase(it);
    }
    receive(bytes);
  });
  for (unsigned i = 0; i < options.flows; ++i)
    make_flow(i);
  at(0ns, [this] { send_next(); });
}

RestorerRig::~RestorerRig() { finish(); }

void RestorerRig::finish() {
  if (restorer_ == nullptr) return;
  pool_.set_sink({});
  restorer_.reset();
  EXPECT_EQ(pool_.in_use(), 0U) << "frames leaked";
}

void RestorerRig::make_flow(unsigned index) {
  Flow flow;
  flow.qpn = 0x100 + index;
  flow.path.src_mac = {2, 0, 0, 0, 0, 1};
  flow.path.dst_mac = {2, 0, 0, 0, 0, 2};
  flow.path.vlans.count = options_.vlans;
  for (std::uint8_t i = 0; i < options_.vlans; ++i)
    flow.path.vlans.tags[i] = {i + 1 == options_.vlans ? roce::kEtherTypeVlan : roce::kEtherTypeVlanAd,
                               static_cast<std::uint16_t>(0x6000 | (100 + i))};
  flow.path.src = *roce::IpAddress::parse(options_.ipv6 ? "fd00:1::1" : "10.1.0.1");
  flow.path.dst = *roce::IpAddress::parse(options_.ipv6 ? "fd00:2::1" : "10.2.0.1");
  flow.path.tos = 0x2a;
  flow.path.flow_label = 0x12345;
  flow.path.udp_source_port = static_cast<std::uint16_t>(0xc000 + index);
  Psn psn = options_.first_psn;
  for (unsigned m = 0; m < options_.messages_per_flow; ++m) {
    if (options_.reads && rng_.chance(0.2)) {
      Packet packet{.psn = psn, .message = m, .psn_span = 1, .headers = {}, .payload_bytes = 0};
      const auto length = static_cast<std::uint32_t>(rng_.between(1, 20 * kPmtu));
      packet.psn_span = roce::packets_for(length, kPmtu);
      packet.headers.bth.opcode = Opcode::kRcRdmaReadRequest;
      packet.headers.reth = {.va = 0x9000, .rkey = 9, .length_bytes = length};
      packet.headers.bth.psn = psn;
      packet.headers.bth.dest_qpn = flow.qpn;
      flow.packets.push_back(packet);
      psn += packet.psn_span;
      continue;
    }
    const auto length = static_cast<std::uint32_t>(rng_.between(1, options_.max_message_packets * kPmtu));
    const std::uint32_t packets = roce::packets_for(length, kPmtu);
    const bool imm = rng_.chance(0.3);
    const bool solicited = rng_.chance(0.3);
    const bool mig_req = rng_.chance(0.5);
    for (std::uint32_t i = 0; i < packets; ++i) {
      Packet packet{.psn = psn, .message = m, .psn_span = 1, .headers = {}, .payload_bytes = kPmtu};
      const bool last = i + 1 == packets;
      if (last) packet.payload_bytes = length - i * kPmtu;
      const unsigned transport = options_.unreliable_connection ? 0x20 : 0;
      const unsigned op = (packets == 1 ? 0x0a : i == 0 ? 0x06 : last ? 0x08 : 0x07) + (last && imm ? 1 : 0);
      packet.headers.bth.opcode = static_cast<Opcode>(transport | op);
      packet.headers.bth.psn = psn;
      packet.headers.bth.dest_qpn = flow.qpn;
      packet.headers.bth.ack_req = last;
      packet.headers.bth.mig_req = mig_req;
      packet.headers.bth.solicited_event = last && solicited;
      packet.headers.imm = 0xabc00000 + m;
      packet.headers.reth = {.va = 0x10000 + m * 0x100000ULL, .rkey = 7, .length_bytes = length};
      flow.packets.push_back(packet);
      psn += 1;
    }
  }
  flows_.push_back(std::move(flow));
}

Bytes RestorerRig::payload_of(unsigned flow, const Packet& packet) const {
  Bytes payload(packet.payload_bytes);
  for (std::size_t i = 0; i < payload.size(); ++i)
    payload[i] = static_cast<std::uint8_t>(1 + (i + packet.psn.value * 31 + flow * 7) % 255);
  return payload;
}

Bytes RestorerRig::frame_of(unsigned flow, const Packet& packet, std::uint16_t ip_id) const {
  roce::PacketPath path = flows_[flow].path;
  path.ip_id = ip_id;
  if (options_.ipv6) path.ip_id = 0;
  return roce::build_frame(path, packet.headers, payload_of(flow, packet));
}

bool RestorerRig::link_loses() {
  if (options_.loss == 0) return false;
  const double leave_bad = 1 / options_.mean_burst;
  const double enter_bad = options_.loss / (options_.mean_burst * (1 - options_.loss));
  link_bad_ = link_bad_ ? !rng_.chance(leave_bad) : rng_.chance(enter_bad);
  return link_bad_;
}

Time RestorerRig::link_delay() {
  Time delay = options_.one_way;
  if (rng_.chance(options_.reorder)) {
    delay +=
        Time(static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(options_.reorder_by.count()))));
  }
  return delay;
}

void RestorerRig::send_next() {
  bool all_done = true;
  for (unsigned tried = 0; tried < flows_.size(); ++tried) {
    const unsigned index = turn_++ % flows_.size();
    Flow& flow = flows_[index];
    if (flow.acknowledged == flow.packets.size()) continue;
    all_done = false;
    if (flow.next_to_send > flow.acknowledged && now_ - flow.progress_at > kTimeout) {
      ++timeouts_;
      flow.next_to_send = flow.acknowledged;
      flow.progress_at = now_;
    }
    if (flow.next_to_send == flow.packets.size() || flow.next_to_send - flow.acknowledged >= kWindow)
      continue;
    if (flow.next_to_send == flow.acknowledged) flow.progress_at = now_;
    if (!flow.announced) {
      flow.announced = true;
      wire::Announcement announcement;
      announcement.flows.push_back(
          {.id = static_cast<wire::FlowId>(index),
           .epoch = 0,
           .stream = {options_.class_id, options_.level},
           .key = roce::PacketView::parse(frame_of(index, flow.packets[0], 0))->flow_key()});
      at(now_ + options_.one_way - 1us, [this, announcement, vlans = flow.path.vlans] {
        restorer_->on_announcement(announcement, vlans, now_);
      });
    }
    const Packet& packet = flow.packets[flow.next_to_send];
    if (flow.next_to_send < flow.highest_sent) ++resent_;
    ++flow.next_to_send;
    if (options_.unreliable_connection) flow.acknowledged = flow.next_to_send;  // nothing is answered
    flow.highest_sent = std::max(flow.highest_sent, flow.next_to_send);
    Bytes frame = frame_of(index, packet, ip_id_++);
    ++sources_sent_;
    if (options_.coded) code(index, frame);
    if (options_.manifests) note_in_manifest(index, packet);
    // The restorer meets a flow with its first packet: before it there is no order to keep.
    const bool first = flow.next_to_send == 1;
    if (!first && link_loses()) {
      ++sources_lost_;
      lost_.emplace(index, packet.psn.value);
    } else {
      if (rng_.chance(options_.duplicate)) at(now_ + link_delay(), [this, frame] { deliver_source(frame); });
      if (!first && rng_.chance(options_.corrupt)) {
        lost_.emplace(index, packet.psn.value);
        frame[frame.size() - 1 - rng_.below(5)] ^= 0x10;  // ICRC, pad or payload
      }
      at(now_ + (first ? options_.one_way : link_delay()), [this, frame] { deliver_source(frame); });
    }
    break;
  }
  if (!all_done) at(now_ + options_.spacing, [this] { send_next(); });
}

void RestorerRig::code(unsigned flow, const Bytes& frame) {
  const auto view = roce::PacketView::parse(frame);
  if (group_.packets == 0) {
    group_.encoders.resize(options_.interleave);
    group_.sources.assign(options_.interleave, {});
    for (fec::BlockEncoder& encoder : group_.encoders)
      encoder.open(fec::CodeKind::kReedSolomon, options_.r, 2048);
    group_.first_ordinal = ordinal_;
    group_.opened = now_;
    at(now_ + 4ms, [this, serial = group_serial_] {
      if (serial == group_serial_ && group_.packets > 0) close_group();
    });
  }
  const unsigned block = group_.packets++ % options_.interleave;
  ++ordinal_;
  ASSERT_TRUE(group_.encoders[block].add(fec::SourceSymbol(view->ipv6(), view->ip_packet()).pieces()));
  group_.sources[block].push_back({static_cast<wire::FlowId>(flow), view->psn(), view->fingerprint()});
  if (group_.packets == options_.k * options_.interleave) close_group();
}

void RestorerRig::close_group() {
  ++group_serial_;
  const Time span = std::max<Time>(now_ - group_.opened, 100us);
  const unsigned blocks = std::min(options_.interleave, group_.packets);
  for (unsigned row = 0; row < options_.r; ++row) {
    for (unsigned block = 0; block < blocks; ++block) {
      const fec::BlockEncoder& encoder = group_.encoders[block];
      auto repair = std::make_shared<wire::Repair>();
      repair->stream = {options_.class_id, options_.level};
      repair->first_ordinal = group_.first_ordinal;
      repair->interleave = static_cast<std::uint8_t>(options_.interleave);
      repair->block = static_cast<std::uint8_t>(block);
      repair->k = static_cast<std::uint8_t>(encoder.columns());
      repair->r = static_cast<std::uint8_t>(options_.r);
      repair->index = static_cast<std::uint8_t>(row);
      repair->symbol_bytes = static_cast<std::uint16_t>(encoder.symbol_bytes());
      repair->sources = group_.sources[block];
      auto symbol = std::make_shared<Bytes>(encoder.repair(row).begin(), encoder.repair(row).end());
      repair->symbol = *symbol;
      const Time sent_at = now_ + span * (row * blocks + block) / (options_.r * blocks);
      at(sent_at, [this, repair, symbol] {
        if (link_loses()) return;
        at(now_ + link_delay(), [this, repair, symbol] { restorer_->on_repair(*repair, now_); });
      });
    }
  }
  group_.packets = 0;
}

// What a repair will not list, and the message of every packet that begins or ends one.
void RestorerRig::note_in_manifest(unsigned flow, const Packet& packet) {
  const auto id = static_cast<wire::FlowId>(flow);
  if (!options_.coded) {
    if (manifest_.runs.empty()) manifest_.first_ordinal = ordinal_;
    ++ordinal_;
    if (!manifest_.runs.empty() && manifest_.runs.back().flow == id &&
        manifest_.runs.back().first_psn + manifest_.runs.back().packets == packet.psn) {
      ++manifest_.runs.back().packets;
    } else {
      manifest_.runs.push_back({.flow = id, .first_psn = packet.psn, .packets = 1});
    }
  }
  const roce::OpcodeInfo& op = roce::opcode_info(packet.headers.bth.opcode);
  if (op.starts_message() || op.ends_message()) {
    const auto& packets = flows_[flow].packets;
    const auto first = std::ranges::find(packets, packet.message, &Packet::message);
    wire::MessageDescriptor descriptor{.flow = id,
                                       .first_psn = first->psn,
                                       .pmtu_bytes = kPmtu,
                                       .reth = packet.headers.reth,
                                       .pkey = packet.headers.bth.pkey,
                                       .mig_req = packet.headers.bth.mig_req,
                                       .end = std::nullopt};
    if (op.ends_message()) {
      descriptor.end = {.solicited_event = packet.headers.bth.solicited_event, .imm = std::nullopt};
      if (op.has(roce::kExtImm)) descriptor.end->imm = packet.headers.imm;
    }
    manifest_.descriptors.push_back(descriptor);
  }
  if (manifest_packets_++ == 0) at(now_ + 2ms, [this] { send_manifest(); });
  if (manifest_packets_ == 64) send_manifest();
}

void RestorerRig::send_manifest() {
  if (manifest_packets_ == 0) return;
  manifest_packets_ = 0;
  manifest_.stream = {options_.class_id, options_.level};
  for (const Time spacing : {0ms, 1ms}) {
    if (link_loses()) continue;
    at(now_ + spacing + link_delay(),
       [this, manifest = manifest_] { restorer_->on_manifest(manifest, now_); });
  }
  manifest_ = {};
}

void RestorerRig::deliver_source(Bytes frame) {
  const recovery::FrameId id = pool_.put(frame);
  received_at_[id.value] = now_;
  const auto view = roce::PacketView::parse(pool_.bytes(id));
  ASSERT_TRUE(view);
  restorer_->on_source(id, *view, now_);
}

// The responder: go-back-N, one NAK per gap. UC: in order, a gap loses the packet and nothing is answered.
void RestorerRig::receive(ByteView frame) {
  const auto view = roce::PacketView::parse(frame);
  ASSERT_TRUE(view);
  EXPECT_TRUE(view->icrc_ok()) << "a broken packet of a protected flow was forwarded";
  const unsigned index = view->dest_qpn() - 0x100;
  Flow& flow = flows_.at(index);
  if (flow.expected == flow.packets.size()) return answer(index, 0x1f, flow.packets.back().psn);
  const Packet& expected = flow.packets[flow.expected];
  const std::int32_t ahead = roce::psn_distance(expected.psn, view->psn());
  if (ahead < 0 && !options_.unreliable_connection) {
    if (view->ack_req()) answer(index, 0x1f, flow.packets[flow.expected - 1].psn);
    return;
  }
  if (ahead > 0) {
    if (options_.unreliable_connection) {
      ++naks_;
      while (flow.expected < flow.packets.size() && flow.packets[flow.expected].psn != view->psn())
        ++flow.expected;
      ASSERT_LT(flow.expected, flow.packets.size());
    } else {
      if (!flow.nak_sent) {
        ++naks_;
        answer(index, roce::kNakPsnSequenceError, expected.psn);
      }
      flow.nak_sent = true;
      return;
    }
  }
  if (ahead < 0) return;  // late beyond its gap: a UC receiver cannot use it
  const Packet& packet = flow.packets[flow.expected];
  flow.nak_sent = false;
  ASSERT_EQ(view->opcode(), packet.headers.bth.opcode);
  const Bytes payload = payload_of(index, packet);
  if (!payload.empty() && view->payload()[0] == 0) {
    accept_filled(index, packet, *view);
    return;
  }
  true_bytes_ += payload.size();
  ASSERT_TRUE(std::ranges::equal(view->payload(), payload))
      << "flow " << index << " PSN " << view->psn().value;
  ASSERT_EQ(view->tos() & 0xfc, flow.path.tos & 0xfc);
  ASSERT_EQ(view->vlans(), flow.path.vlans);
  ASSERT_EQ(Bytes(frame.begin(), frame.begin() + 6),
            Bytes(flow.path.dst_mac.begin(), flow.path.dst_mac.end()));
  ++flow.expected;
  if (view->ack_req() || flow.expected % 16 == 0) answer(index, 0x1f, packet.psn);
}

// Zeros in place of a packet: every header as the sender's.
void RestorerRig::accept_filled(unsigned index, const Packet& packet, const roce::PacketView& view) {
  Flow& flow = flows_[index];
  EXPECT_TRUE(std::ranges::all_of(view.payload(), [](std::uint8_t byte) { return byte == 0; }));
  roce::PacketPath path = flow.path;
  roce::PacketHeaders headers = packet.headers;
  headers.bth.ack_req = true;
  const Bytes expected = roce::build_frame(path, headers, Bytes(packet.payload_bytes));
  const auto as_sent = roce::PacketView::parse(expected);
  EXPECT_TRUE(std::ranges::equal(as_sent->ip_packet(), view.ip_packet()))
      << roce::opcode_info(packet.headers.bth.opcode).name;
  EXPECT_TRUE(lost_.contains({index, packet.psn.value})) << "filled though nothing was lost";
  zeros_[{index, packet.psn.value}] = packet.payload_bytes;
  ++flow.expected;
  answer(index, 0x1f, packet.psn);
}

void RestorerRig::check_fills(double budget, double per_message) const {
  std::map<std::pair<unsigned, std::uint32_t>, std::uint32_t> reported;
  std::map<std::pair<unsigned, unsigned>, std::uint64_t> by_message;
  std::uint64_t filled_bytes = 0;
  for (const recovery::FillRecord& fill : fills_) {
    const unsigned index = fill.dst_qpn - 0x100;
    EXPECT_TRUE(reported.emplace(std::pair(index, fill.psn.value), fill.payload_bytes).second)
        << "reported twice";
    const auto packet = std::ranges::find(flows_[index].packets, fill.psn, &Packet::psn);
    ASSERT_NE(packet, flows_[index].packets.end());
    const auto first = std::ranges::find(flows_[index].packets, packet->message, &Packet::message);
    EXPECT_EQ(fill.va, packet->headers.reth.va);
    EXPECT_EQ(fill.rkey, packet->headers.reth.rkey);
    EXPECT_EQ(fill.offset_bytes, (fill.psn.value - first->psn.value) * kPmtu);
    EXPECT_EQ(fill.payload_bytes, packet->payload_bytes);
    filled_bytes += fill.payload_bytes;
    by_message[{index, packet->message}] += fill.payload_bytes;
    EXPECT_GE(packet->headers.reth.length_bytes, policy_.min_fill_message_bytes);
    EXPECT_LE(static_cast<double>(by_message[{index, packet->message}]),
              per_message * packet->headers.reth.length_bytes);
  }
  EXPECT_EQ(reported, zeros_) << "what was reported is what happened";
  EXPECT_LE(static_cast<double>(filled_bytes), budget * static_cast<double>(true_bytes_));
}

void RestorerRig::on_fill(const recovery::FillRecord& record) { fills_.push_back(record); }

void RestorerRig::answer(unsigned index, std::uint8_t syndrome, Psn psn) {
  if (options_.answers_seen) {
    roce::PacketPath path = flows_[index].path;
    std::swap(path.src, path.dst);
    path.udp_source_port = static_cast<std::uint16_t>(0xe000 + index * 7);
    roce::PacketHeaders headers;
    headers.bth.opcode = Opcode::kRcAcknowledge;
    headers.bth.dest_qpn = 0x900 + index;
    headers.bth.psn = psn;
    headers.aeth = {.syndrome = syndrome, .msn = 0};
    // A host takes its time; and the engine is not called from within its own send().
    at(now_ + 20us, [this, frame = roce::build_frame(path, headers, {})] {
      restorer_->on_lan_packet(*roce::PacketView::parse(frame), now_);
    });
  }
  at(now_ + options_.one_way, [this, index, syndrome, psn] {
    Flow& flow = flows_[index];
    const auto found =
        std::ranges::find_if(flow.packets, [&](const Packet& packet) { return packet.psn == psn; });
    const auto packets = static_cast<std::size_t>(found - flow.packets.begin());
    if (roce::is_nak(syndrome)) {
      flow.acknowledged = std::max(flow.acknowledged, packets);
      flow.next_to_send = flow.acknowledged;
    } else {
      flow.acknowledged = std::max(flow.acknowledged, packets + 1);
      flow.next_to_send = std::max(flow.next_to_send, flow.acknowledged);
    }
    flow.progress_at = now_;
  });
}

bool RestorerRig::run(Time limit) {
  while (!testing::Test::HasFatalFailure()) {
    const bool complete = std::ranges::all_of(flows_, [this](const Flow& flow) {
      return options_.unreliable_connection ? flow.expected == flow.packets.size()
                                            : flow.acknowledged == flow.packets.size();
    });
    if (complete) return true;
    const auto deadline = restorer_->next_deadline();
    if (events_.empty() && !deadline) return false;
    Time next = events_.empty() ? *deadline : events_.begin()->first;
    if (deadline) next = std::min(next, *deadline);
    now_ = std::max(now_, next);
    if (now_ > limit) return false;
    if (deadline && *deadline <= now_) restorer_->tick(now_);
    while (!events_.empty() && events_.begin()->first <= now_) {
      auto event = std::move(events_.begin()->second);
      events_.erase(events_.begin());
      event();
    }
  }
  return false;
}

void RestorerRig::print_events() const {
  for (std::size_t i = 0; i < recovery::kEventCount; ++i) {
    if (const auto hits = counters_.total(static_cast<recovery::Event>(i)); hits > 0)
      std::printf("  %-28s %llu\n", recovery::kEventNames[i].data(), static_cast<unsigned long long>(hits));
  }
}

}  // namespace weft::test
