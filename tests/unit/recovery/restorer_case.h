// A restorer with nothing around it: packets, lists and answers are handed to it one by one. The flow is requests from
// 10.1.0.1 to queue pair kQpn of 10.2.0.1; its answers go to kAnswerQpn.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "agent/fec/block_encoder.h"
#include "agent/recovery/fill_log.h"
#include "agent/recovery/restorer.h"
#include "agent/roce/builder.h"
#include "testbed/sim/frame_pool.h"

namespace weft::recovery {

class RestorerCase : public testing::Test {
 protected:
  static constexpr Time kRtt = std::chrono::milliseconds(10);
  static constexpr std::uint32_t kPmtu = 256;
  static constexpr std::uint32_t kMessagePackets = 1000;
  static constexpr std::uint32_t kQpn = 0x77;
  static constexpr std::uint32_t kAnswerQpn = 0x99;
  static constexpr wire::StreamId kDpHigh{1, 0};
  static constexpr wire::StreamId kDpLow{2, 0};

  explicit RestorerCase(const RestorerLimits& limits = {})
      : restorer_(pool_, policy_, limits, counters_, fills_) {
    restorer_.set_rtt(kRtt, kRtt);
  }
  ~RestorerCase() override {
    restorer_.drop_stale();
    EXPECT_EQ(pool_.in_use(), 0U);
  }

  static roce::PacketPath path() {
    roce::PacketPath path;
    path.src = *roce::IpAddress::parse("10.1.0.1");
    path.dst = *roce::IpAddress::parse("10.2.0.1");
    path.tos = 0x2a;
    return path;
  }
  // Whose payload has no zero.
  static Bytes frame(std::uint32_t psn, std::uint16_t ip_id = 1,
                     roce::Opcode opcode = roce::Opcode::kRcRdmaWriteMiddle) {
    roce::PacketPath below = path();
    below.ip_id = ip_id;
    return frame(below, psn, opcode);
  }
  static Bytes frame(const roce::PacketPath& below, std::uint32_t psn, roce::Opcode opcode) {
    roce::PacketHeaders headers;
    headers.bth.opcode = opcode;
    headers.bth.dest_qpn = kQpn;
    headers.bth.psn = roce::Psn(psn);
    headers.reth = {.va = 0x1000, .rkey = 5, .length_bytes = kMessagePackets * kPmtu};
    return roce::build_frame(below, headers, Bytes(kPmtu, static_cast<std::uint8_t>(psn | 1)));
  }
  // The same packet as frame(), marked on its way.
  static Bytes ce_marked_frame(std::uint32_t psn) {
    roce::PacketPath below = path();
    below.ip_id = 1;
    below.tos |= roce::kEcnCe;
    return frame(below, psn, roce::Opcode::kRcRdmaWriteMiddle);
  }

  void source(const Bytes& bytes) {
    const FrameId id = pool_.put(bytes);
    restorer_.on_source(id, *roce::PacketView::parse(pool_.bytes(id)), now_);
  }
  void announce(wire::StreamId stream, wire::FlowId id = 1, std::uint8_t epoch = 0) {
    wire::Announcement announcement;
    announcement.flows.push_back(
        {.id = id, .epoch = epoch, .stream = stream, .key = roce::PacketView::parse(frame(0))->flow_key()});
    restorer_.on_announcement(announcement, {}, now_);
  }
  // What a list of flow id 1 says was sent.
  void listed(wire::StreamId stream, std::uint32_t first_psn, std::uint16_t packets,
              std::uint32_t first_ordinal = 0) {
    wire::Manifest manifest;
    manifest.stream = stream;
    manifest.first_ordinal = first_ordinal;
    manifest.runs.push_back({.flow = 1, .first_psn = roce::Psn(first_psn), .packets = packets});
    restorer_.on_manifest(manifest, now_);
  }
  // The peer describes the message of fillable_message().
  void described(wire::StreamId stream) {
    wire::Manifest manifest;
    manifest.stream = stream;
    manifest.descriptors.push_back(
        {.flow = 1,
         .first_psn = roce::Psn(0),
         .pmtu_bytes = kPmtu,
         .reth = roce::PacketView::parse(frame(0, 1, roce::Opcode::kRcRdmaWriteFirst))->reth().value(),
         .pkey = 0xffff,
         .mig_req = false,
         .end = std::nullopt});
    restorer_.on_manifest(manifest, now_);
  }
  // An acknowledgement of the local endpoint.
  static Bytes answer(std::uint32_t psn, std::uint8_t syndrome = 0x1f,
                      roce::Opcode opcode = roce::Opcode::kRcAcknowledge) {
    roce::PacketPath below = path();
    std::swap(below.src, below.dst);
    below.udp_source_port = 0xd111;
    roce::PacketHeaders headers;
    headers.bth.opcode = opcode;
    headers.bth.dest_qpn = kAnswerQpn;
    headers.bth.psn = roce::Psn(psn);
    headers.aeth = {.syndrome = syndrome, .msn = 1};
    const bool data = roce::opcode_info(opcode).carries_payload;
    return roce::build_frame(below, headers, data ? Bytes(kPmtu, 1) : Bytes());
  }
  void answered(std::uint32_t psn, std::uint8_t syndrome = 0x1f) {
    const Bytes bytes = answer(psn, syndrome);
    restorer_.on_lan_packet(*roce::PacketView::parse(bytes), now_);
  }
  void answer_copied(const Bytes& acknowledgement) {
    const auto view = roce::PacketView::parse(acknowledgement);
    restorer_.on_ack_copy({.ip_packet = view->ip_packet()}, PathHeaders(acknowledgement, *view), now_);
  }
  // A message of kMessagePackets from PSN 0, of which `packets` arrive, paired with its answers.
  void fillable_message(std::uint32_t packets) {
    announce(kDpLow);
    source(frame(0, 1, roce::Opcode::kRcRdmaWriteFirst));
    for (std::uint32_t psn = 1; psn < packets; ++psn) {
      source(frame(psn));
      answered(psn);
    }
    pool_.take_sent(Port::kLan);
  }
  std::vector<std::uint32_t> delivered() {
    std::vector<std::uint32_t> psns;
    for (const auto& sent : pool_.take_sent(Port::kLan))
      psns.push_back(roce::PacketView::parse(sent.bytes)->psn().value);
    return psns;
  }
  void advance(Time by) {
    const Time until = now_ + by;
    for (auto due = restorer_.next_deadline(); due && *due <= until; due = restorer_.next_deadline()) {
      now_ = std::max(now_, *due);
      restorer_.tick(now_);
    }
    now_ = until;
  }
  std::uint64_t count(Event event) const { return counters_.total(event); }

  sim::FramePool pool_{1024};
  // May be changed before the first packet: dp-low fills generously.
  PolicyTable policy_ = [] {
    PolicyTable policy = PolicyTable::defaults();
    policy.min_fill_message_bytes = 1024;
    for (LevelPolicy& level : policy.classes[kDpLow.class_id].levels)
      level.fill_budget = 0.5;
    return policy;
  }();
  Counters counters_;
  FillLog fills_{100};
  Time now_{std::chrono::seconds(1)};
  Restorer restorer_;
};

// A block of these packets, of flow id 1, and its first repair of `rows`.
struct CodedBlock {
  explicit CodedBlock(const std::vector<Bytes>& packets, wire::StreamId stream = {1, 0}, unsigned rows = 1) {
    fec::BlockEncoder encoder;
    encoder.open(fec::CodeKind::kReedSolomon, rows, 2048);
    repair.stream = stream;
    repair.k = static_cast<std::uint8_t>(packets.size());
    repair.r = static_cast<std::uint8_t>(rows);
    for (const Bytes& packet : packets) {
      const auto view = roce::PacketView::parse(packet);
      EXPECT_TRUE(encoder.add(fec::SourceSymbol(false, view->ip_packet()).pieces()));
      repair.sources.push_back({.flow = 1, .psn = view->psn(), .fingerprint = view->fingerprint()});
    }
    symbol.assign(encoder.repair(0).begin(), encoder.repair(0).end());
    repair.symbol_bytes = static_cast<std::uint16_t>(symbol.size());
    repair.symbol = symbol;
  }
  Bytes symbol;
  wire::Repair repair;
};

}  // namespace weft::recovery
