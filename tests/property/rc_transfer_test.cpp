// Random transfers over a path that loses, duplicates, reorders and corrupts: every byte arrives as sent, every
// message once and in order, and no queue pair fails. Prints how often each fault and branch was met; none may
// be zero, or the test tests less than it says.
#include <cstdio>
#include <memory>

#include <gtest/gtest.h>

#include "tests/support/rc_messages.h"
#include "tests/support/seed.h"

namespace weft::test {
namespace {

using rc::WorkOp;
using std::chrono::microseconds;
using std::chrono::milliseconds;

struct Hits {
  std::uint64_t lost = 0, duplicated = 0, reordered = 0, corrupted = 0, packets = 0;
  std::uint64_t timeouts = 0, sequence_naks = 0, implied_naks = 0, rnr_naks = 0, duplicates = 0;
  std::uint64_t reads_resent = 0, stale_responses = 0, icrc_errors = 0, naks_ignored = 0, psn_wraps = 0;

  void add(const rc::Counters& c) {
    timeouts += c.timeouts;
    sequence_naks += c.sequence_naks_received;
    implied_naks += c.implied_naks;
    rnr_naks += c.rnr_naks_received;
    duplicates += c.duplicates;
    reads_resent += c.read_responses_resent;
    stale_responses += c.stale_responses;
    icrc_errors += c.icrc_errors;
    naks_ignored += c.naks_ignored;
    packets += c.packets_sent;
  }
};

// One queue pair, up to 40 messages of random kind and size, posted at once.
class RandomTransfer {
 public:
  explicit RandomTransfer(Rng& rng, Hits& hits)
      : rng_(rng), hits_(hits), world_({.one_way_delay = milliseconds(1), .ipv6 = rng.chance(0.5)}) {
    rc::QpConfig config;
    config.pmtu_bytes = 256U << rng.below(5);
    config.window_packets = static_cast<std::uint32_t>(rng.between(1, 200));
    config.ack_every = static_cast<std::uint32_t>(rng.between(1, 32));
    config.timeout = milliseconds(12);
    config.first_psn =
        roce::Psn(rng.chance(0.3) ? roce::kPsnCount - static_cast<std::uint32_t>(rng.below(400))
                                  : static_cast<std::uint32_t>(rng.below(roce::kPsnCount)));
    config.max_reads = static_cast<std::uint32_t>(rng.between(1, 16));
    first_psn_ = config.first_psn;
    pmtu_bytes_ = config.pmtu_bytes;
    world_.connect(config);
    const double fault = rng.chance(0.2) ? 0.05 : 0.01;
    world_.fate = [this, fault](const Sent& sent) { return fate(sent, fault); };
    world_.on_arrival = [this](const rc::Arrival& arrival) { check_arrival(arrival); };
    world_.on_read = [this](const rc::ReadRequested& read) {
      rc::write_payload(world_.pattern().message(kQpnB, read.message), read.bytes);
    };
  }

  void run() {
    const auto messages = static_cast<std::uint32_t>(rng_.between(1, 40));
    std::uint32_t psns = 0;
    for (std::uint32_t i = 0; i < messages; ++i)
      psns += post(i);
    if (first_psn_.value + psns > roce::kPsnCount) ++hits_.psn_wraps;
    // Receives come late for some of the messages that need one: RNR.
    post_receives(rng_.below(messages + 1));
    world_.run(milliseconds(20));
    post_receives(messages);
    world_.run();
    ASSERT_EQ(world_.completions().size(), messages);
    for (std::uint32_t i = 0; i < messages; ++i) {
      const rc::Completion& completion = world_.completions()[i];
      EXPECT_EQ(completion.id, i);
      EXPECT_EQ(completion.status, rc::WorkStatus::kSuccess) << describe(completion.status);
      EXPECT_TRUE(ops_[i] != WorkOp::kRead || exact(world_, sinks_[i], i));
    }
    EXPECT_EQ(world_.arrivals().size(),
              static_cast<std::size_t>(
                  std::count_if(ops_.begin(), ops_.end(), [](WorkOp op) { return op != WorkOp::kRead; })));
    EXPECT_EQ(world_.a().counters().qp_errors + world_.b().counters().qp_errors, 0U);
    hits_.add(world_.a().counters());
    hits_.add(world_.b().counters());
  }

 private:
  std::vector<Copy> fate(const Sent& sent, double fault) {
    if (rng_.chance(fault)) {
      ++hits_.lost;
      return {};
    }
    std::vector<Copy> copies = once(sent);
    if (rng_.chance(fault)) {
      ++hits_.duplicated;
      copies.push_back(copies[0]);
      copies[1].extra_delay = microseconds(rng_.below(3000));
    }
    if (rng_.chance(fault)) {
      ++hits_.reordered;
      copies[0].extra_delay = microseconds(rng_.below(3000));
    }
    if (rng_.chance(fault)) {
      ++hits_.corrupted;  // anywhere from the BTH on
      const std::size_t offset = rng_.between(sent.view.bth_offset() + 5, copies[0].frame.size() - 1);
      copies[0].frame[offset] ^= static_cast<std::uint8_t>(1U << rng_.below(8));
    }
    return copies;
  }

  // Every message has memory of its own, so that a late write into an earlier one would be seen.
  std::uint32_t post(std::uint32_t number) {
    constexpr WorkOp kOps[] = {WorkOp::kWrite, WorkOp::kWriteWithImm, WorkOp::kSend, WorkOp::kSendWithImm,
                               WorkOp::kRead};
    const WorkOp op = kOps[rng_.below(5)];
    const auto bytes = static_cast<std::uint32_t>(rng_.chance(0.1) ? 0 : rng_.below(kMostBytes));
    ops_.push_back(op);
    sinks_.emplace_back(bytes, rc::kPoison);
    rc::WorkRequest work = request(world_, op, bytes, number, kVa + number * kMostBytes);
    if (op == WorkOp::kRead) work.sink = sinks_.back();
    world_.a().post(world_.now(), kQpnA, work);
    return roce::packets_for(bytes, pmtu_bytes_);
  }

  void post_receives(std::uint64_t up_to) {
    for (; receives_.size() < up_to;) {
      receives_.push_back(std::make_unique<Bytes>(kMostBytes, rc::kPoison));
      world_.b().post_receive(kQpnB, *receives_.back());
    }
  }

  void check_arrival(const rc::Arrival& arrival) {
    ASSERT_LT(arrival.message, ops_.size());
    EXPECT_EQ(arrival.op, ops_[arrival.message]);
    EXPECT_EQ(arrival.bytes.size(), sinks_[arrival.message].size());
    EXPECT_TRUE(exact(world_, arrival.bytes, arrival.message));
    EXPECT_TRUE(last_arrival_ < static_cast<std::int64_t>(arrival.message));
    last_arrival_ = static_cast<std::int64_t>(arrival.message);
  }

  static constexpr std::uint32_t kMostBytes = 60'000;
  Rng& rng_;
  Hits& hits_;
  World world_;
  std::uint32_t pmtu_bytes_ = 0;
  roce::Psn first_psn_;
  std::vector<WorkOp> ops_;
  std::vector<Bytes> sinks_;  // by message; holds READs, and remembers every message's size
  std::vector<std::unique_ptr<Bytes>> receives_;
  std::int64_t last_arrival_ = -1;
};

TEST(RcTransfer, IsExactWhateverThePathDoes) {
  Rng rng = test::rng(1);
  Hits hits;
  for (int i = 0; i < 300 && !HasFailure(); ++i) {
    SCOPED_TRACE(i);
    RandomTransfer(rng, hits).run();
  }
  const std::pair<const char*, std::uint64_t> counts[] = {{"packets", hits.packets},
                                                          {"lost", hits.lost},
                                                          {"duplicated", hits.duplicated},
                                                          {"reordered", hits.reordered},
                                                          {"corrupted", hits.corrupted},
                                                          {"timeouts", hits.timeouts},
                                                          {"sequence NAKs", hits.sequence_naks},
                                                          {"implied NAKs", hits.implied_naks},
                                                          {"RNR NAKs", hits.rnr_naks},
                                                          {"duplicate requests", hits.duplicates},
                                                          {"READ data resent", hits.reads_resent},
                                                          {"stale responses", hits.stale_responses},
                                                          {"ICRC errors", hits.icrc_errors},
                                                          {"NAKs ignored", hits.naks_ignored},
                                                          {"PSN wraps", hits.psn_wraps}};
  for (const auto& [name, count] : counts) {
    std::printf("%-20s %llu\n", name, static_cast<unsigned long long>(count));
    EXPECT_GT(count, 0U) << name;
  }
}

}  // namespace
}  // namespace weft::test
