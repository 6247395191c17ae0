// A closed loop of messages from site A to site B, as weft-roce plays it: `slots` messages in flight, one queue pair per
// slot and DSCP, the next message posted when the last completes. A READ is a message the other way: A asks for it. Every
// delivered byte is compared with what was sent.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "testbed/rc/payload.h"
#include "testbed/sim/two_sites.h"

namespace weft::sim {

struct MessageSpec {
  std::uint32_t bytes = 1U << 20;
  std::uint8_t dscp = 0;
  rc::WorkOp op = rc::WorkOp::kWriteWithImm;
};

struct TransferConfig {
  std::vector<MessageSpec> messages{};
  unsigned slots = 1;  // slot i runs between the hosts number i modulo `hosts` of both sites
  std::size_t hosts = 1;
  std::uint32_t pmtu_bytes = 1024;
  std::uint32_t window_packets = 2048;
  Time timeout = std::chrono::milliseconds(134);
  bool same_port_back =
      true;  // both ends hash both queue pair numbers into the UDP source port, as ConnectX does
  unsigned retry_count = 7;
  bool ipv6 = false;
  roce::VlanStack vlans{};
  std::uint64_t seed = 1;
  bool psn_zero = false;  // all queue pairs start at PSN 0, as NCCL's do; else at random
  std::uint32_t first_psn_from =
      0;  // random start PSNs lie within first_psn_span from here: 0xffff00 wraps early
  std::uint32_t first_psn_span = roce::kPsnCount;
  // A queue pair is made anew, with its numbers but another start PSN, after so many messages; 0: never.
  std::uint64_t messages_per_qp = 0;
  // The fraction of receive credits that come late, so that the responder is not ready.
  double late_receives = 0;
};

struct MessageOutcome {
  MessageSpec spec;
  Time posted_at{0};
  Time completion_time{0};  // post to completion
  rc::WorkStatus status = rc::WorkStatus::kSuccess;
  std::uint64_t retransmitted_packets = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t corrupt_bytes = 0;
  std::vector<rc::ByteRange> zero_runs;  // in the message: filled, or wrong
  std::size_t host = 0;
  std::uint32_t qpn_b = 0;
  std::optional<roce::Psn> first_psn{};  // of what was delivered at B
  std::uint64_t va = 0;
  bool delivered = false;
};

class Transfer {
 public:
  // Installs itself as `sites.on_events`. The sites outlive it.
  Transfer(TwoSites& sites, const TransferConfig& config);

  // Posts the first messages, one a slot.
  void start();
  bool finished() const { return finished_ == outcomes_.size(); }
  // Posts the receive credits that were held back. run() does it at every step.
  void post_late_receives();
  // All have completed, and were delivered whole.
  bool succeeded() const;

  // Runs from start() until every message has completed or failed, at most until `limit`. True when all succeeded.
  bool run(Time limit);

  // Called when a queue pair was made anew.
  std::function<void(std::size_t host, std::uint32_t qpn_a, std::uint32_t qpn_b)> on_new_life;

  roce::IpAddress address_of(Side side, std::size_t host) const;
  // The queue pair at A of one at B; hosts have the same number.
  static std::uint32_t qpn_a_of(std::uint32_t qpn_b);
  static std::uint32_t qpn_b_of(std::uint32_t qpn_a);

  // In the order of TransferConfig::messages.
  const std::vector<MessageOutcome>& outcomes() const { return outcomes_; }

 private:
  struct Channel {  // one queue pair pair
    std::size_t slot = 0;
    std::size_t host = 0;
    std::uint8_t dscp = 0;
    std::uint32_t qpn_a = 0;
    std::uint32_t qpn_b = 0;
    Bytes memory;  // of host B
    Bytes sink;    // of host A, for what it reads
    std::uint64_t va = 0;
    std::uint32_t rkey = 0;
    std::uint64_t posted = 0;          // messages so far
    std::uint64_t in_this_life = 0;    // of them since the queue pair was made
    std::deque<std::size_t> expected;  // message indices B is to receive, in posting order
  };
  struct Slot {
    std::map<std::uint8_t, std::unique_ptr<Channel>> channels;  // by DSCP
  };

  Channel& channel_of(std::size_t slot, std::uint8_t dscp);
  void make_qps(const Channel& channel);
  void post_next(std::size_t slot);
  void judge(MessageOutcome& outcome, std::size_t index, ByteView bytes);
  void on_arrival(std::size_t host, const rc::Arrival& arrival);
  void on_completion(std::size_t host, const rc::Completion& completion);

  TwoSites& sites_;
  TransferConfig config_;
  Rng rng_;
  rc::PayloadPattern pattern_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> channels_of_host_;
  using QpName = std::pair<std::size_t, std::uint32_t>;  // host and number
  std::map<QpName, Channel*> by_qpn_a_;
  std::map<QpName, Channel*> by_qpn_b_;
  std::vector<MessageOutcome> outcomes_;
  std::vector<rc::Payload> payloads_;
  std::vector<Channel*> late_receives_;
  std::size_t next_message_ = 0;
  std::size_t finished_ = 0;
};

}  // namespace weft::sim
