#include "testbed/rc/requester.h"

#include <algorithm>
#include <cstring>

#include "testbed/rc/rnr_timer.h"

namespace weft::rc {
namespace {

using roce::Opcode;
using roce::Psn;

struct OpcodeRow {
  Opcode first, middle, last, only;
};

constexpr OpcodeRow opcodes_of(WorkOp op) {
  switch (op) {
    case WorkOp::kSend:
      return {Opcode::kRcSendFirst, Opcode::kRcSendMiddle, Opcode::kRcSendLast, Opcode::kRcSendOnly};
    case WorkOp::kSendWithImm:
      return {Opcode::kRcSendFirst, Opcode::kRcSendMiddle, Opcode::kRcSendLastWithImmediate,
              Opcode::kRcSendOnlyWithImmediate};
    case WorkOp::kWrite:
      return {Opcode::kRcRdmaWriteFirst, Opcode::kRcRdmaWriteMiddle, Opcode::kRcRdmaWriteLast,
              Opcode::kRcRdmaWriteOnly};
    case WorkOp::kWriteWithImm:
      return {Opcode::kRcRdmaWriteFirst, Opcode::kRcRdmaWriteMiddle, Opcode::kRcRdmaWriteLastWithImmediate,
              Opcode::kRcRdmaWriteOnlyWithImmediate};
    case WorkOp::kRead:
      break;
  }
  return {Opcode::kRcRdmaReadRequest, Opcode::kRcRdmaReadRequest, Opcode::kRcRdmaReadRequest,
          Opcode::kRcRdmaReadRequest};
}

constexpr Opcode opcode_at(const OpcodeRow& row, std::uint32_t index, std::uint32_t packets) {
  if (packets == 1) return row.only;
  if (index == 0) return row.first;
  return index + 1 == packets ? row.last : row.middle;
}

std::uint32_t packets_between(Psn from, Psn to) {
  return static_cast<std::uint32_t>(roce::psn_distance(from, to));
}

}  // namespace

Requester::Requester(const QpConfig& config, Counters& counters)
    : config_(config),
      counters_(counters),
      una_(config.first_psn),
      next_(config.first_psn),
      high_(config.first_psn),
      end_(config.first_psn),
      retries_left_(config.retry_count),
      rnr_retries_left_(config.rnr_retry) {}

void Requester::post(Nanoseconds now, const WorkRequest& request, Events& events) {
  Work work{.request = request,
            .first_psn = end_,
            .packets = roce::packets_for(request.bytes, config_.pmtu_bytes),
            .completion = {.id = request.id, .qpn = config_.qpn, .first_psn = end_, .posted_at = now}};
  if (failed_) {
    work.completion.status = WorkStatus::kFlushed;
    work.completion.completed_at = now;
    events.completions.push_back(work.completion);
    return;
  }
  end_ = work.end_psn();
  works_.push_back(work);
}

std::uint32_t Requester::in_flight_packets() const { return packets_between(una_, next_); }

bool Requester::can_send() const {
  if (failed_ || rnr_until_ || send_index_ == works_.size()) return false;
  const std::uint32_t in_flight = in_flight_packets();
  const Work& work = works_[send_index_];
  if (work.request.op == WorkOp::kRead) {
    if (reads_outstanding_ >= config_.max_reads && !psn_before(next_, high_)) return false;
    return in_flight == 0 || in_flight + packets_between(next_, work.end_psn()) <= config_.window_packets;
  }
  return in_flight < config_.window_packets;
}

OutgoingPacket Requester::next_packet(Nanoseconds now) {
  Work& work = works_[send_index_];
  const bool read = work.request.op == WorkOp::kRead;
  OutgoingPacket packet = read ? build_read(work) : build_data(work);
  packet.retransmission = psn_before(next_, high_);
  packet.headers.bth.dest_qpn = config_.peer_qpn;
  packet.headers.bth.psn = next_;

  ++work.completion.packets;
  if (packet.retransmission) ++work.completion.retransmitted_packets;
  if (read && !packet.retransmission) ++reads_outstanding_;
  next_ = read ? work.end_psn() : next_ + 1;
  if (next_ == work.end_psn()) ++send_index_;
  if (psn_before(high_, next_)) high_ = next_;
  if (!timer_) restart_timer(now);
  return packet;
}

OutgoingPacket Requester::build_read(const Work& work) const {
  // After a rewind into its middle, a READ asks for what is still missing.
  const std::uint32_t offset_bytes = packets_between(work.first_psn, next_) * config_.pmtu_bytes;
  OutgoingPacket packet;
  packet.headers.bth.opcode = Opcode::kRcRdmaReadRequest;
  packet.headers.bth.ack_req = true;
  packet.headers.reth = {work.request.va + offset_bytes, work.request.rkey,
                         work.request.bytes - offset_bytes};
  return packet;
}

OutgoingPacket Requester::build_data(const Work& work) const {
  const std::uint32_t index = packets_between(work.first_psn, next_);
  OutgoingPacket packet;
  packet.headers.bth.opcode = opcode_at(opcodes_of(work.request.op), index, work.packets);
  // Ask for an acknowledgement where the responder gives one anyway, and where the window would close on us.
  packet.headers.bth.ack_req = index + 1 == work.packets || (index + 1) % config_.ack_every == 0 ||
                               in_flight_packets() + 1 >= config_.window_packets;
  packet.headers.reth = {work.request.va, work.request.rkey, work.request.bytes};
  packet.headers.imm = work.request.imm;
  const std::uint32_t bytes = packet_bytes(work.request.bytes, config_.pmtu_bytes, index);
  if (bytes > 0) packet.payload = work.request.payload.at(std::uint64_t{index} * config_.pmtu_bytes, bytes);
  return packet;
}

void Requester::receive(Nanoseconds now, const roce::PacketView& view, Events& events) {
  if (failed_) return;
  switch (view.op().operation) {
    case roce::Operation::kAcknowledge:
      receive_acknowledge(now, view, events);
      return;
    case roce::Operation::kReadResponse:
      receive_read_response(now, view, events);
      return;
    default:  // an atomic's answer: none was asked for
      ++counters_.stale_responses;
  }
}

void Requester::receive_acknowledge(Nanoseconds now, const roce::PacketView& view, Events& events) {
  const Psn psn = view.psn();
  const std::uint8_t syndrome = view.aeth()->syndrome;
  if (!psn_in_run(psn, una_, packets_between(una_, high_))) {
    ++counters_.stale_responses;
    return;
  }
  if (!roce::is_ack(syndrome)) {
    receive_nak(now, psn, syndrome, events);
    return;
  }
  ++counters_.acks_received;
  if (!acknowledge_before(now, psn + 1, events)) imply_nak(now, events);
}

void Requester::receive_nak(Nanoseconds now, Psn psn, std::uint8_t syndrome, Events& events) {
  if (!acknowledge_before(now, psn, events)) {
    imply_nak(now, events);
    return;
  }
  if (roce::is_rnr_nak(syndrome)) {
    ++counters_.rnr_naks_received;
    rewind(now, Rewind::kRnr, events);
    if (!failed_) rnr_until_ = now + rnr_wait(syndrome);
    return;
  }
  switch (syndrome) {
    case roce::kNakPsnSequenceError:
      ++counters_.sequence_naks_received;
      rewind(now, Rewind::kNak, events);
      return;
    case roce::kNakInvalidRequest:
      fail(now, WorkStatus::kRemoteInvalidRequest, events);
      return;
    case roce::kNakRemoteAccess:
      fail(now, WorkStatus::kRemoteAccess, events);
      return;
    default:
      fail(now, WorkStatus::kRemoteOperational, events);
  }
}

void Requester::receive_read_response(Nanoseconds now, const roce::PacketView& view, Events& events) {
  const Psn psn = view.psn();
  if (!psn_in_run(psn, una_, packets_between(una_, high_))) {
    ++counters_.stale_responses;
    return;
  }
  // It also acknowledges the WRITEs and SENDs before its READ; what it skips of a READ was lost.
  const auto owner = std::find_if(works_.begin(), works_.end(), [psn](const Work& work) {
    return psn_in_run(psn, work.first_psn, work.packets);
  });
  acknowledge_before(now, owner->first_psn, events);
  if (psn != una_) {
    imply_nak(now, events);
    return;
  }
  Work& work = works_.front();
  const std::uint32_t index = packets_between(work.first_psn, psn);
  const std::uint32_t bytes = packet_bytes(work.request.bytes, config_.pmtu_bytes, index);
  const bool ends = index + 1 == work.packets;
  if (work.request.op != WorkOp::kRead || view.payload_bytes() != bytes || view.op().ends_message() != ends) {
    fail(now, WorkStatus::kBadResponse, events);
    return;
  }
  if (bytes > 0) {
    std::memcpy(work.request.sink.data() + std::size_t{index} * config_.pmtu_bytes, view.payload().data(),
                bytes);
  }
  una_ = psn + 1;
  progress(now);
  if (ends) complete_front(now, events);
}

bool Requester::acknowledge_before(Nanoseconds now, Psn psn, Events& events) {
  bool advanced = false;
  bool all = true;
  while (!works_.empty() && psn_before(una_, psn)) {
    const Work& work = works_.front();
    if (work.request.op == WorkOp::kRead) {
      all = false;  // its bytes are still to come: an acknowledgement alone cannot complete it
      break;
    }
    advanced = true;
    if (psn_before(psn, work.end_psn())) {
      una_ = psn;
      break;
    }
    una_ = work.end_psn();
    complete_front(now, events);
  }
  if (advanced) progress(now);
  return all;
}

void Requester::complete_front(Nanoseconds now, Events& events) {
  Work& work = works_.front();
  if (work.request.op == WorkOp::kRead) --reads_outstanding_;
  work.completion.completed_at = now;
  events.completions.push_back(work.completion);
  works_.pop_front();
  if (send_index_ > 0) --send_index_;
}

void Requester::progress(Nanoseconds now) {
  if (psn_before(next_, una_)) {  // acknowledged while we were resending it: skip the rest
    next_ = una_;
    locate_next();
  }
  retries_left_ = config_.retry_count;
  rnr_retries_left_ = config_.rnr_retry;
  nak_rewound_ = false;
  if (una_ == high_) {
    timer_.reset();
  } else {
    restart_timer(now);
  }
}

void Requester::imply_nak(Nanoseconds now, Events& events) {
  ++counters_.implied_naks;
  rewind(now, Rewind::kNak, events);
}

void Requester::rewind(Nanoseconds now, Rewind why, Events& events) {
  if (why == Rewind::kNak && nak_rewound_) {
    ++counters_.naks_ignored;
    return;
  }
  unsigned& left = why == Rewind::kRnr ? rnr_retries_left_ : retries_left_;
  const bool unlimited = why == Rewind::kRnr && config_.rnr_retry == 7;
  if (left == 0) {
    ++counters_.retries_exhausted;
    fail(now, why == Rewind::kRnr ? WorkStatus::kRnrRetryExceeded : WorkStatus::kRetryExceeded, events);
    return;
  }
  if (!unlimited) --left;
  // Only a NAK proves that the responder will not send another for this gap; after a timeout it may.
  nak_rewound_ = why == Rewind::kNak;
  next_ = una_;
  locate_next();
  restart_timer(now);
}

void Requester::locate_next() {
  send_index_ = 0;
  while (send_index_ < works_.size() && !psn_before(next_, works_[send_index_].end_psn()))
    ++send_index_;
}

void Requester::fail(Nanoseconds now, WorkStatus status, Events& events) {
  failed_ = true;
  ++counters_.qp_errors;
  for (Work& work : works_) {
    work.completion.status = status;
    work.completion.completed_at = now;
    events.completions.push_back(work.completion);
    status = WorkStatus::kFlushed;
  }
  works_.clear();
  send_index_ = 0;
  timer_.reset();
  rnr_until_.reset();
}

void Requester::restart_timer(Nanoseconds now) {
  timer_started_ = now;
  timer_ = now + config_.timeout;
}

std::optional<Nanoseconds> Requester::deadline() const {
  if (rnr_until_) return rnr_until_;  // nothing is sent before it, so nothing can time out before it
  return timer_;
}

void Requester::advance(Nanoseconds now, Events& events) {
  if (rnr_until_) {
    if (now < *rnr_until_) return;
    rnr_until_.reset();
    restart_timer(now);
    return;
  }
  if (!timer_ || now < *timer_) return;
  const Nanoseconds waited = now - timer_started_;
  ++counters_.timeouts;
  counters_.timeout_wait += waited;
  if (!works_.empty()) {
    ++works_.front().completion.timeouts;
    works_.front().completion.timeout_wait += waited;
  }
  rewind(now, Rewind::kTimeout, events);
}

}  // namespace weft::rc
