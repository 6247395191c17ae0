#include "testbed/rc/responder.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace weft::rc {
namespace {

using roce::Opcode;
using roce::Operation;
using roce::PacketView;
using roce::Position;
using roce::Psn;

// What rdma_rxe and IBTA 9.7.4.1 let one READ or WRITE move.
constexpr std::uint32_t kLargestMessageBytes = 1U << 31;

WorkOp work_op_of(const roce::OpcodeInfo& op) {
  const bool imm = op.has(roce::kExtImm);
  if (op.operation == Operation::kSend) return imm ? WorkOp::kSendWithImm : WorkOp::kSend;
  return imm ? WorkOp::kWriteWithImm : WorkOp::kWrite;
}

}  // namespace

Responder::Responder(const QpConfig& config, const Memory& memory, Counters& counters)
    : config_(config), memory_(memory), counters_(counters), expected_(config.peer_first_psn) {}

void Responder::receive(Nanoseconds now, const PacketView& view, Events& events) {
  if (failed_) return;
  const std::int32_t distance = psn_distance(expected_, view.psn());
  if (distance > 0) {
    ++counters_.out_of_sequence;
    if (nak_sent_) return;
    nak_sent_ = true;
    push_acknowledge(expected_, roce::kNakPsnSequenceError);
    return;
  }
  if (distance < 0) {
    ++counters_.duplicates;
    receive_duplicate(view);
    return;
  }
  nak_sent_ = false;
  receive_in_order(now, view, events);
}

void Responder::receive_duplicate(const PacketView& view) {
  if (view.op().operation != Operation::kReadRequest) {
    // The first at once, so that the requester stops resending what is here; then as often as new packets.
    const bool first = !std::exchange(duplicate_acknowledged_, true);
    if (!first && !view.ack_req() && ++unacknowledged_packets_ < config_.ack_every) return;
    push_acknowledge(expected_ - 1, roce::kAckUnlimitedCredits);
    return;
  }
  const auto resource = std::find_if(reads_.begin(), reads_.end(), [&](const ReadResource& read) {
    return psn_in_run(view.psn(), read.first_psn, read.packets);
  });
  if (resource == reads_.end()) return;  // too old to be answered again: dropped, as in rdma_rxe
  // The same READ, or what the requester lacks of it: any other range is not an answer to this PSN.
  const auto index = static_cast<std::uint32_t>(psn_distance(resource->first_psn, view.psn()));
  const std::uint32_t offset_bytes = index * config_.pmtu_bytes;
  const roce::Reth expected{resource->reth.va + offset_bytes, resource->reth.rkey,
                            resource->reth.length_bytes - offset_bytes};
  if (*view.reth() == expected) push_read(*resource, index, true);
}

void Responder::receive_in_order(Nanoseconds now, const PacketView& view, Events& events) {
  const bool starts = view.op().starts_message();
  Message message = starts ? Message{.operation = view.op().operation, .first_psn = view.psn()} : message_;
  switch (in_sequence(view.op()) ? check(view, message) : Verdict::kInvalidRequest) {
    case Verdict::kAccept:
      break;
    case Verdict::kReceiverNotReady:
      ++counters_.rnr_naks_sent;
      nak_sent_ = true;  // what follows cannot be taken before this is sent again: no second NAK for it
      push_acknowledge(expected_, roce::kSyndromeRnrNak | (config_.rnr_timer_code & 0x1f));
      return;
    case Verdict::kInvalidRequest:
      refuse(roce::kNakInvalidRequest);
      return;
    case Verdict::kAccessError:
      refuse(roce::kNakRemoteAccess);
      return;
  }
  ++counters_.requests_in_order;
  if (view.op().operation == Operation::kReadRequest) {
    accept_read(message, events);
  } else {
    accept_data(now, view, message, events);
  }
}

void Responder::refuse(std::uint8_t syndrome) {
  ++counters_.error_naks_sent;
  ++counters_.qp_errors;
  failed_ = true;
  push_acknowledge(expected_, syndrome);
}

bool Responder::in_sequence(const roce::OpcodeInfo& op) const {
  if (!message_.open) return op.starts_message();
  return !op.starts_message() && op.operation == message_.operation;
}

Responder::Verdict Responder::check(const PacketView& view, Message& message) const {
  switch (view.op().operation) {
    case Operation::kSend:
      return check_send(view, message);
    case Operation::kWrite:
      return check_write(view, message);
    case Operation::kReadRequest:
      return check_read(view, message);
    default:  // atomics, FLUSH: this endpoint grants no such access
      return Verdict::kInvalidRequest;
  }
}

Responder::Verdict Responder::check_length(const PacketView& view) const {
  const std::size_t bytes = view.payload_bytes();
  const bool ends = view.op().ends_message();
  if (!ends && bytes != config_.pmtu_bytes) return Verdict::kInvalidRequest;
  if (bytes > config_.pmtu_bytes) return Verdict::kInvalidRequest;
  if (view.op().position == Position::kLast && bytes == 0) return Verdict::kInvalidRequest;
  return Verdict::kAccept;
}

Responder::Verdict Responder::check_send(const PacketView& view, Message& message) const {
  if (receives_.empty()) return Verdict::kReceiverNotReady;
  if (view.op().starts_message()) message.bytes = receives_.front();
  if (view.payload_bytes() > message.left_bytes()) return Verdict::kInvalidRequest;
  return check_length(view);
}

Responder::Verdict Responder::check_write(const PacketView& view, Message& message) const {
  if (view.op().has(roce::kExtImm) && receives_.empty()) return Verdict::kReceiverNotReady;
  if (const Verdict verdict = check_length(view); verdict != Verdict::kAccept) return verdict;
  if (const auto reth = view.reth()) {
    if (const Verdict verdict = resolve(*reth, message); verdict != Verdict::kAccept) return verdict;
  }
  // rdma_rxe lets a LAST that is one PMTU long end a message early; what the RETH says must come, comes here.
  const std::uint32_t left = message.left_bytes();
  const bool ends = view.op().ends_message();
  const std::uint32_t due = ends ? left : config_.pmtu_bytes;
  if (view.payload_bytes() != due || (!ends && left <= config_.pmtu_bytes)) return Verdict::kInvalidRequest;
  return Verdict::kAccept;
}

Responder::Verdict Responder::check_read(const PacketView& view, Message& message) const {
  return resolve(*view.reth(), message);
}

Responder::Verdict Responder::resolve(const roce::Reth& reth, Message& message) const {
  message.reth = reth;
  if (reth.length_bytes == 0) return Verdict::kAccept;  // needs no key and no address (IBTA 9.3.3.1)
  if (reth.length_bytes > kLargestMessageBytes) return Verdict::kInvalidRequest;
  const auto bytes = memory_.find(reth.rkey, reth.va, reth.length_bytes);
  if (!bytes) return Verdict::kAccessError;
  message.bytes = *bytes;
  return Verdict::kAccept;
}

void Responder::accept_data(Nanoseconds now, const PacketView& view, const Message& message, Events& events) {
  message_ = message;
  const ByteView payload = view.payload();
  if (!payload.empty()) {
    std::memcpy(message_.bytes.data() + message_.received_bytes, payload.data(), payload.size());
  }
  message_.received_bytes += static_cast<std::uint32_t>(payload.size());
  message_.open = !view.op().ends_message();
  ++expected_;
  ++unacknowledged_packets_;
  duplicate_acknowledged_ = false;
  if (!message_.open) finish_message(now, view, events);
  if (!message_.open || view.ack_req() || unacknowledged_packets_ >= config_.ack_every) {
    push_acknowledge(expected_ - 1, roce::kAckUnlimitedCredits);
  }
}

void Responder::finish_message(Nanoseconds now, const PacketView& view, Events& events) {
  const WorkOp op = work_op_of(view.op());
  if (op != WorkOp::kWrite) receives_.pop_front();
  events.arrivals.push_back({.qpn = config_.qpn,
                             .message = messages_,
                             .op = op,
                             .imm = view.imm().value_or(0),
                             .va = message_.reth.va,
                             .first_psn = message_.first_psn,
                             .at = now,
                             .bytes = message_.bytes.first(message_.received_bytes)});
  ++messages_;
}

void Responder::accept_read(const Message& message, Events& events) {
  const std::uint32_t packets = roce::packets_for(message.reth.length_bytes, config_.pmtu_bytes);
  if (reads_.size() == config_.max_reads) reads_.pop_front();
  reads_.push_back({expected_, packets, message.reth, message.bytes});
  events.reads.push_back({.qpn = config_.qpn, .message = messages_, .bytes = message.bytes});
  ++messages_;
  expected_ += packets;
  unacknowledged_packets_ = 0;  // the response acknowledges what came before
  push_read(reads_.back(), 0, false);
}

void Responder::push_acknowledge(Psn psn, std::uint8_t syndrome) {
  unacknowledged_packets_ = 0;
  // A NAK acknowledges what is before it, so it too replaces an acknowledgement that has not left.
  const bool replaces =
      !responses_.empty() && !responses_.back().read && roce::is_ack(responses_.back().aeth.syndrome);
  if (!replaces) responses_.emplace_back();
  responses_.back().psn = psn;
  responses_.back().aeth = {syndrome, msn()};
}

void Responder::push_read(const ReadResource& resource, std::uint32_t from_index, bool replay) {
  responses_.push_back({.read = true,
                        .psn = resource.first_psn,
                        .aeth = {roce::kAckUnlimitedCredits, msn()},
                        .bytes = resource.bytes,
                        .packets = resource.packets,
                        .first_index = from_index,
                        .next_index = from_index,
                        .replay = replay});
}

OutgoingPacket Responder::next_response() {
  OutgoingPacket packet;
  packet.headers.bth.dest_qpn = config_.peer_qpn;
  Response& response = responses_.front();
  packet.headers.aeth = response.aeth;
  if (!response.read) {
    packet.headers.bth.opcode = Opcode::kRcAcknowledge;
    packet.headers.bth.psn = response.psn;
    if (roce::is_ack(response.aeth.syndrome)) ++counters_.acks_sent;
    if (response.aeth.syndrome == roce::kNakPsnSequenceError) ++counters_.sequence_naks_sent;
    responses_.pop_front();
    return packet;
  }
  const std::uint32_t index = response.next_index++;
  const bool first = index == response.first_index;
  const bool last = response.next_index == response.packets;
  packet.headers.bth.opcode =
      first ? (last ? Opcode::kRcRdmaReadResponseOnly : Opcode::kRcRdmaReadResponseFirst)
            : (last ? Opcode::kRcRdmaReadResponseLast : Opcode::kRcRdmaReadResponseMiddle);
  packet.headers.bth.psn = response.psn + index;
  const auto message_bytes = static_cast<std::uint32_t>(response.bytes.size());
  packet.payload = response.bytes.subspan(std::size_t{index} * config_.pmtu_bytes,
                                          packet_bytes(message_bytes, config_.pmtu_bytes, index));
  packet.retransmission = response.replay;
  ++(response.replay ? counters_.read_responses_resent : counters_.read_responses_sent);
  if (last) responses_.pop_front();
  return packet;
}

}  // namespace weft::rc
