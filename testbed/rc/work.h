// What a user of the endpoint posts, and what it hears back.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include "agent/base/bytes.h"
#include "agent/base/units.h"
#include "agent/roce/builder.h"
#include "agent/roce/psn.h"
#include "testbed/rc/payload.h"

namespace weft::rc {

// One end of a reliable connection. Both ends agree on PMTU and on each other's numbers beforehand, as they
// would through a connection manager.
struct QpConfig {
  std::uint32_t qpn = 0;  // ours
  std::uint32_t peer_qpn = 0;
  roce::Psn first_psn{};       // of our requests
  roce::Psn peer_first_psn{};  // of the peer's
  roce::PacketPath path{};     // from us to the peer; the IP ID is counted by the host
  std::uint32_t pmtu_bytes = 1024;
  std::uint32_t window_packets = 2048;  // PSNs sent and not acknowledged; at most kMaxWindowPackets
  std::uint32_t ack_every = 16;         // packets per acknowledgement inside a message
  Nanoseconds timeout = std::chrono::milliseconds(134);
  unsigned retry_count = 7;          // timeouts and NAKs without progress before the queue pair fails
  unsigned rnr_retry = 7;            // 7: without limit (IBTA 9.7.5.2.8)
  std::uint8_t rnr_timer_code = 12;  // what our responder asks for: 0.64 ms (IBTA table 45)
  std::uint32_t max_reads = 16;      // READs outstanding; also how many a responder can replay
};

// Well inside the 2^23 within which PSNs compare.
inline constexpr std::uint32_t kMaxWindowPackets = 1U << 22;

enum class WorkOp : std::uint8_t { kSend, kSendWithImm, kWrite, kWriteWithImm, kRead };

struct WorkRequest {
  std::uint64_t id = 0;
  WorkOp op = WorkOp::kWrite;
  std::uint32_t bytes = 0;
  Payload payload;       // what is sent; unused by kRead
  MutableByteView sink;  // kRead: where the bytes go; `bytes` long, the caller's until completion
  std::uint64_t va = 0;  // kWrite..., kRead
  std::uint32_t rkey = 0;
  std::uint32_t imm = 0;
};

enum class WorkStatus : std::uint8_t {
  kSuccess,
  kRetryExceeded,
  kRnrRetryExceeded,
  kRemoteInvalidRequest,
  kRemoteAccess,
  kRemoteOperational,
  kBadResponse,  // the peer broke the protocol
  kFlushed,      // an earlier request ended the queue pair
};

constexpr std::string_view describe(WorkStatus status) {
  switch (status) {
    case WorkStatus::kSuccess:
      return "ok";
    case WorkStatus::kRetryExceeded:
      return "retry exceeded";
    case WorkStatus::kRnrRetryExceeded:
      return "rnr retry exceeded";
    case WorkStatus::kRemoteInvalidRequest:
      return "remote invalid request";
    case WorkStatus::kRemoteAccess:
      return "remote access error";
    case WorkStatus::kRemoteOperational:
      return "remote operational error";
    case WorkStatus::kBadResponse:
      return "bad response";
    case WorkStatus::kFlushed:
      return "flushed";
  }
  return "unknown";
}

// A request ended.
struct Completion {
  std::uint64_t id = 0;
  std::uint32_t qpn = 0;  // ours
  WorkStatus status = WorkStatus::kSuccess;
  roce::Psn first_psn;
  Nanoseconds posted_at{0};
  Nanoseconds completed_at{0};
  std::uint64_t packets = 0;  // sent for it, retransmissions included
  std::uint64_t retransmitted_packets = 0;
  std::uint64_t timeouts = 0;
  Nanoseconds timeout_wait{0};
};

// A message of the peer is complete in our memory (a plain WRITE too, which an application would not hear of).
struct Arrival {
  std::uint32_t qpn = 0;
  std::uint64_t message = 0;  // counts the peer's requests on this queue pair from 0
  WorkOp op = WorkOp::kWrite;
  std::uint32_t imm = 0;
  std::uint64_t va = 0;
  roce::Psn first_psn;
  Nanoseconds at{0};
  MutableByteView bytes;
};

// The peer reads our memory. The bytes are taken when its responses are built, not before the next call of
// Host::next_frame.
struct ReadRequested {
  std::uint32_t qpn = 0;
  std::uint64_t message = 0;
  MutableByteView bytes;
};

struct Events {
  std::vector<Completion> completions;
  std::vector<Arrival> arrivals;
  std::vector<ReadRequested> reads;
};

}  // namespace weft::rc
