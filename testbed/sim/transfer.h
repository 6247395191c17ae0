// A closed loop of messages from host A to host B, as weft-roce plays it: `slots` messages in flight, one queue pair per
// slot and DSCP, the next message posted when the last completes. Every delivered byte is compared with what was sent.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "testbed/rc/payload.h"
#include "testbed/sim/two_sites.h"

namespace weft::sim {

struct MessageSpec {
  std::uint32_t bytes = 1U << 20;
  std::uint8_t dscp = 0;
};

struct TransferConfig {
  std::vector<MessageSpec> messages{};
  unsigned slots = 1;
  rc::WorkOp op = rc::WorkOp::kWriteWithImm;
  std::uint32_t pmtu_bytes = 1024;
  std::uint32_t window_packets = 2048;
  Time timeout = std::chrono::milliseconds(134);
  bool ipv6 = false;
  roce::VlanStack vlans{};
  std::uint64_t seed = 1;
  bool psn_zero = false;  // all queue pairs start at PSN 0, as NCCL's do; else at random
  std::uint32_t first_psn_from =
      0;  // random start PSNs lie within first_psn_span from here: 0xffff00 wraps early
  std::uint32_t first_psn_span = roce::kPsnCount;
};

struct MessageOutcome {
  MessageSpec spec;
  Time completion_time{0};  // post to completion
  rc::WorkStatus status = rc::WorkStatus::kSuccess;
  std::uint64_t retransmitted_packets = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t corrupt_bytes = 0;
  std::vector<rc::ByteRange> zero_runs;  // in the message: filled, or wrong
  std::uint32_t qpn_b = 0;
  std::uint64_t va = 0;
  bool delivered = false;
};

class Transfer {
 public:
  // Installs itself as `sites.on_events`. The sites outlive it.
  Transfer(TwoSites& sites, const TransferConfig& config);

  // Runs until every message has completed or failed, at most until `limit`. True when all completed.
  bool run(Time limit);

  // In the order of TransferConfig::messages.
  const std::vector<MessageOutcome>& outcomes() const { return outcomes_; }

 private:
  struct Channel {  // one queue pair pair
    std::uint32_t qpn_a = 0;
    std::uint32_t qpn_b = 0;
    Bytes memory;  // of host B
    std::uint64_t va = 0;
    std::uint32_t rkey = 0;
    std::uint64_t posted = 0;  // messages on this queue pair so far
  };
  struct Slot {
    std::map<std::uint8_t, std::unique_ptr<Channel>> channels;  // by DSCP
  };

  Channel& channel_of(std::size_t slot, std::uint8_t dscp);
  void post_next(std::size_t slot);
  void on_events(Side side, const rc::Events& events);

  TwoSites& sites_;
  TransferConfig config_;
  Rng rng_;
  rc::PayloadPattern pattern_;
  std::vector<Slot> slots_;
  std::map<std::uint32_t, std::pair<std::size_t, Channel*>> by_qpn_a_;  // slot and channel
  std::map<std::uint32_t, std::deque<std::size_t>> expected_on_qpn_b_;  // message indices, in posting order
  std::vector<MessageOutcome> outcomes_;
  std::size_t next_message_ = 0;
  std::size_t finished_ = 0;
};

}  // namespace weft::sim
