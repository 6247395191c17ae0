// What one host's queue pairs did, summed over all of them.
#pragma once

#include <cstdint>

#include "agent/base/units.h"

namespace weft::rc {

struct Counters {
  // Frames as they come in.
  std::uint64_t frames_received = 0;
  std::uint64_t not_ours = 0;     // not RoCE, or not for an address and queue pair of this host
  std::uint64_t malformed = 0;    // RoCE, but with impossible lengths; dropped
  std::uint64_t icrc_errors = 0;  // dropped

  // Requester.
  std::uint64_t packets_sent = 0;  // first transmissions and retransmissions
  std::uint64_t ip_bytes_sent = 0;
  std::uint64_t retransmitted_packets = 0;
  std::uint64_t retransmitted_ip_bytes = 0;
  std::uint64_t acks_received = 0;
  std::uint64_t sequence_naks_received = 0;
  std::uint64_t rnr_naks_received = 0;
  std::uint64_t implied_naks = 0;       // a READ response was skipped
  std::uint64_t naks_ignored = 0;       // for a gap that is being resent already
  std::uint64_t stale_responses = 0;    // for PSNs completed before
  std::uint64_t timeouts = 0;           // local ACK timer expiries
  Nanoseconds timeout_wait{0};          // time spent waiting for them
  std::uint64_t retries_exhausted = 0;  // queue pairs that gave up

  // Responder.
  std::uint64_t requests_in_order = 0;
  std::uint64_t out_of_sequence = 0;  // dropped because an earlier PSN is missing
  std::uint64_t duplicates = 0;
  std::uint64_t acks_sent = 0;
  std::uint64_t sequence_naks_sent = 0;
  std::uint64_t rnr_naks_sent = 0;
  std::uint64_t error_naks_sent = 0;  // 0x61, 0x62
  std::uint64_t read_responses_sent = 0;
  std::uint64_t read_responses_resent = 0;

  std::uint64_t qp_errors = 0;  // queue pairs that left service, on either side
};

}  // namespace weft::rc
