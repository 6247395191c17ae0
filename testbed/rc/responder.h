// The responder half of a queue pair: takes requests in PSN order, puts their bytes into registered memory and
// answers. Follows what rdma_rxe enforces (rxe_resp.c), in the same order of checks:
//   PSN        ahead: one NAK (PSN sequence error) per gap, then silence until the gap closes; dropped
//              behind: a duplicate; WRITE and SEND are acknowledged again (rdma_rxe: each one; here the first
//              and then as often as new packets), a READ is answered again
//   opcode     FIRST, MIDDLE, LAST in order within one operation, else NAK 0x61 and the queue pair fails
//   resource   SEND and immediates take a posted receive; none: RNR NAK, dropped, and then silence as after a
//              PSN NAK (rdma_rxe adds a PSN NAK, which costs its requester nothing since 7 retries are endless)
//   length     FIRST and MIDDLE are exactly PMTU bytes; LAST, ONLY what the RETH leaves, else NAK 0x61
//   access     rkey and range of the RETH, else NAK 0x62
// Acknowledgements are cumulative and leave in order with READ responses. One that was not sent yet is
// replaced by a later one, so a batch of received packets costs one.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "agent/base/units.h"
#include "agent/roce/view.h"
#include "testbed/rc/counters.h"
#include "testbed/rc/memory.h"
#include "testbed/rc/packet.h"
#include "testbed/rc/work.h"

namespace weft::rc {

class Responder {
 public:
  // All three outlive the responder.
  Responder(const QpConfig& config, const Memory& memory, Counters& counters);

  // A buffer for a SEND, or (empty) the credit a WRITE with immediate takes.
  void post_receive(MutableByteView buffer) { receives_.push_back(buffer); }

  // A request packet whose ICRC was right.
  void receive(Nanoseconds now, const roce::PacketView& view, Events& events);

  bool has_response() const { return !responses_.empty(); }
  // READ data is paced with the requests, acknowledgements are not.
  bool response_is_data() const { return responses_.front().read; }
  // The next response; only if has_response().
  OutgoingPacket next_response();

 private:
  struct Response {
    bool read = false;
    // An acknowledgement.
    roce::Psn psn;
    roce::Aeth aeth{};
    // The responses to a READ that are still to be sent: `bytes` holds the whole of what it asked for.
    MutableByteView bytes{};
    std::uint32_t packets = 0;
    std::uint32_t first_index = 0;
    std::uint32_t next_index = 0;
    bool replay = false;
  };
  // A READ that can be asked for again.
  struct ReadResource {
    roce::Psn first_psn;
    std::uint32_t packets = 0;
    roce::Reth reth;
    MutableByteView bytes;
  };
  // The message being received.
  struct Message {
    bool open = false;  // FIRST seen, LAST not yet
    roce::Operation operation = roce::Operation::kSend;
    roce::Psn first_psn;
    roce::Reth reth{};
    MutableByteView bytes{};
    std::uint32_t received_bytes = 0;
    std::uint32_t left_bytes() const { return static_cast<std::uint32_t>(bytes.size()) - received_bytes; }
  };
  enum class Verdict : std::uint8_t { kAccept, kReceiverNotReady, kInvalidRequest, kAccessError };

  void receive_duplicate(const roce::PacketView& view);
  void receive_in_order(Nanoseconds now, const roce::PacketView& view, Events& events);
  bool in_sequence(const roce::OpcodeInfo& op) const;
  Verdict check(const roce::PacketView& view, Message& message) const;
  Verdict check_length(const roce::PacketView& view) const;
  Verdict resolve(const roce::Reth& reth, Message& message) const;
  Verdict check_send(const roce::PacketView& view, Message& message) const;
  Verdict check_write(const roce::PacketView& view, Message& message) const;
  Verdict check_read(const roce::PacketView& view, Message& message) const;
  void refuse(std::uint8_t syndrome);
  void accept_data(Nanoseconds now, const roce::PacketView& view, const Message& message, Events& events);
  void accept_read(const Message& message, Events& events);
  void finish_message(Nanoseconds now, const roce::PacketView& view, Events& events);
  std::uint32_t msn() const { return static_cast<std::uint32_t>(messages_ & 0xffffff); }
  void push_acknowledge(roce::Psn psn, std::uint8_t syndrome);
  void push_read(const ReadResource& resource, std::uint32_t from_index, bool replay);

  const QpConfig& config_;
  const Memory& memory_;
  Counters& counters_;
  roce::Psn expected_;
  std::uint64_t messages_ = 0;  // completed; the MSN is its low 24 bits
  std::uint32_t unacknowledged_packets_ = 0;
  bool nak_sent_ = false;                // about expected_, which has not come again since
  bool duplicate_acknowledged_ = false;  // since the last new packet
  Message message_;
  std::deque<MutableByteView> receives_;
  std::deque<ReadResource> reads_;  // the last config_.max_reads, oldest first
  std::deque<Response> responses_;
  bool failed_ = false;
};

}  // namespace weft::rc
