#include "netem/link.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/seed.h"

namespace weft::netem {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Outcome = Fate::Outcome;

Link make_link(const LinkProfile& profile, std::uint64_t seed = 1) {
  return Link({{Nanoseconds{0}, profile}}, seed, Direction::kForward);
}

LinkProfile fast() {
  LinkProfile profile;
  profile.rate_bits_per_second = 200'000'000;
  profile.delay = milliseconds(15);
  profile.queue_bytes = 1'500'000;
  return profile;
}

LinkPacket data(std::uint32_t ip_bytes) { return {ip_bytes, Stream::kData, false}; }

TEST(Link, APacketTakesItsSerialisationAndTheDelay) {
  Link link = make_link(fast());
  const Fate fate = link.enter(Nanoseconds{0}, data(1000));
  EXPECT_EQ(fate.outcome, Outcome::kDelivered);
  EXPECT_EQ(fate.deliver_at, microseconds(40) + milliseconds(15));  // 8000 bits at 200 Mbit/s
}

TEST(Link, BackToBackPacketsLeaveAtExactlyTheRate) {
  LinkProfile profile = fast();
  profile.rate_bits_per_second = 333'333'333;  // no packet takes a whole number of nanoseconds
  profile.queue_bytes = 1U << 30;
  Link link = make_link(profile);
  constexpr std::uint64_t kPackets = 100'000;
  Fate last;
  for (std::uint64_t i = 0; i < kPackets; ++i)
    last = link.enter(Nanoseconds{0}, data(1001));
  const Nanoseconds exact(kPackets * 1001 * 8 * 1'000'000'000 / profile.rate_bits_per_second);
  EXPECT_EQ(last.deliver_at - profile.delay, exact);
}

TEST(Link, AnIdleLinkOwesNothing) {
  Link link = make_link(fast());
  link.enter(Nanoseconds{0}, data(1000));
  EXPECT_EQ(link.enter(seconds(1), data(1000)).deliver_at, seconds(1) + microseconds(40) + milliseconds(15));
}

TEST(Link, TheQueueHoldsExactlyItsBytes) {
  LinkProfile profile = fast();
  profile.queue_bytes = 10'000;
  Link link = make_link(profile);
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(link.enter(Nanoseconds{0}, data(1000)).outcome, Outcome::kDelivered) << i;
  EXPECT_EQ(link.enter(Nanoseconds{0}, data(1)).outcome, Outcome::kTailDropped);
  EXPECT_EQ(link.queued_bytes(Nanoseconds{0}), 10'000U);
  // One nanosecond before the first packet has left nothing is free; then exactly its bytes are.
  EXPECT_EQ(link.enter(microseconds(40) - Nanoseconds{1}, data(1)).outcome, Outcome::kTailDropped);
  EXPECT_EQ(link.enter(microseconds(40), data(1001)).outcome, Outcome::kTailDropped);
  EXPECT_EQ(link.enter(microseconds(40), data(1000)).outcome, Outcome::kDelivered);
}

TEST(Link, WithoutARateThereIsNoQueue) {
  LinkProfile profile;
  profile.delay = milliseconds(1);
  Link link = make_link(profile);
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(link.enter(Nanoseconds{0}, data(1500)).deliver_at, milliseconds(1));
}

TEST(Link, LossLiesBehindTheBottleneck) {
  LinkProfile profile = fast();
  profile.loss.probability = 1;
  Link link = make_link(profile);
  EXPECT_EQ(link.enter(Nanoseconds{0}, data(1000)).outcome, Outcome::kLost);
  EXPECT_EQ(link.queued_bytes(Nanoseconds{0}), 1000U);
}

TEST(Link, MarksCapablePacketsThatFindMoreThanTheThreshold) {
  LinkProfile profile = fast();
  profile.ecn_threshold_bytes = 3000;
  Link link = make_link(profile);
  for (int i = 0; i < 10; ++i) {
    LinkPacket packet = data(1000);
    packet.ect = i % 2 == 1;
    EXPECT_EQ(link.enter(Nanoseconds{0}, packet).ce_marked, packet.ect && i > 3) << i;
  }
}

struct Tally {
  int reordered = 0;
  int duplicated = 0;
  int corrupted = 0;
  int overtaken = 0;
};

Tally run(const LinkProfile& profile, int packets, std::vector<Fate>* fates = nullptr,
          std::uint64_t seed = test::seed()) {
  Link link = make_link(profile, seed);
  Tally tally;
  Nanoseconds newest{0};
  for (int i = 0; i < packets; ++i) {
    const Fate fate = link.enter(microseconds(50) * i, data(1100));
    tally.reordered += fate.reordered ? 1 : 0;
    tally.duplicated += fate.duplicated ? 1 : 0;
    tally.corrupted += fate.corrupt_bit ? 1 : 0;
    if (fate.outcome == Outcome::kDelivered) {
      tally.overtaken += fate.deliver_at < newest ? 1 : 0;
      newest = std::max(newest, fate.deliver_at);
    }
    EXPECT_LT(fate.corrupt_bit.value_or(0), 1100U * 8);
    if (fates != nullptr) fates->push_back(fate);
  }
  return tally;
}

// Five standard deviations of a binomial.
void expect_fraction(int count, int packets, double p) {
  EXPECT_NEAR(count, packets * p, 5 * std::sqrt(packets * p * (1 - p)));
}

TEST(Link, EachImpairmentHitsItsFraction) {
  constexpr int kPackets = 200'000;
  LinkProfile profile = fast();
  profile.reorder = 0.01;
  profile.duplicate = 0.02;
  profile.corrupt = 0.03;
  const Tally tally = run(profile, kPackets);
  expect_fraction(tally.reordered, kPackets, 0.01);
  expect_fraction(tally.duplicated, kPackets, 0.02);
  expect_fraction(tally.corrupted, kPackets, 0.03);
  EXPECT_GT(tally.overtaken, 0);
}

TEST(Link, AReorderedPacketIsHeldBackAndTheOthersAreNot) {
  LinkProfile profile = fast();
  profile.reorder = 0.01;
  profile.reorder_delay = milliseconds(2);
  std::vector<Fate> fates;
  run(profile, 10'000, &fates);
  for (std::size_t i = 0; i < fates.size(); ++i) {
    const Nanoseconds plain = microseconds(50) * i + microseconds(44) + milliseconds(15);
    EXPECT_EQ(fates[i].deliver_at, plain + (fates[i].reordered ? milliseconds(2) : milliseconds(0)));
  }
}

TEST(Link, JitterSpreadsButKeepsOrder) {
  LinkProfile profile = fast();
  profile.jitter = milliseconds(1);
  std::vector<Fate> fates;
  EXPECT_EQ(run(profile, 50'000, &fates).overtaken, 0);
  Nanoseconds least = seconds(1);
  Nanoseconds most{0};
  for (std::size_t i = 0; i < fates.size(); ++i) {
    const Nanoseconds extra =
        fates[i].deliver_at - (microseconds(50) * i + microseconds(44) + milliseconds(15));
    least = std::min(least, extra);
    most = std::max(most, extra);
  }
  EXPECT_GE(least, -milliseconds(1));
  EXPECT_LE(most, milliseconds(1));
  EXPECT_GT(most, microseconds(900));
}

TEST(Link, OneSeedOneHistory) {
  LinkProfile profile = fast();
  profile.loss.probability = 0.01;
  profile.jitter = milliseconds(1);
  profile.reorder = profile.duplicate = profile.corrupt = 0.01;
  std::vector<Fate> first;
  std::vector<Fate> second;
  std::vector<Fate> other_seed;
  run(profile, 20'000, &first, 7);
  run(profile, 20'000, &second, 7);
  run(profile, 20'000, &other_seed, 8);
  int differences = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].outcome, second[i].outcome);
    EXPECT_EQ(first[i].deliver_at, second[i].deliver_at);
    EXPECT_EQ(first[i].corrupt_bit, second[i].corrupt_bit);
    differences += first[i].outcome != other_seed[i].outcome ? 1 : 0;
  }
  EXPECT_GT(differences, 0);
}

TEST(Link, SwitchingOneImpairmentOnChangesNoOther) {
  LinkProfile lossy = fast();
  lossy.loss.probability = 0.01;
  LinkProfile busy = lossy;
  busy.jitter = milliseconds(1);
  busy.reorder = busy.duplicate = busy.corrupt = 0.1;
  std::vector<Fate> plain;
  std::vector<Fate> impaired;
  run(lossy, 20'000, &plain);
  run(busy, 20'000, &impaired);
  for (std::size_t i = 0; i < plain.size(); ++i)
    EXPECT_EQ(plain[i].outcome, impaired[i].outcome);
}

TEST(Link, TheTwoDirectionsLoseDifferentPackets) {
  LinkProfile profile = fast();
  profile.loss.probability = 0.5;
  Link forward({{Nanoseconds{0}, profile}}, 1, Direction::kForward);
  Link reverse({{Nanoseconds{0}, profile}}, 1, Direction::kReverse);
  int equal = 0;
  for (int i = 0; i < 10'000; ++i) {
    equal += forward.enter(milliseconds(i), data(100)).outcome ==
             reverse.enter(milliseconds(i), data(100)).outcome;
  }
  expect_fraction(equal, 10'000, 0.5);
}

TEST(Link, StepsTakeEffectAtTheirTime) {
  LinkProfile bad = fast();
  bad.loss.probability = 1;
  bad.delay = milliseconds(5);
  Link link({{Nanoseconds{0}, fast()}, {seconds(10), bad}, {seconds(20), fast()}}, 1, Direction::kForward);
  EXPECT_EQ(link.least_delay(), milliseconds(5));
  EXPECT_EQ(link.enter(seconds(10) - Nanoseconds{1}, data(100)).outcome, Outcome::kDelivered);
  EXPECT_EQ(link.enter(seconds(10), data(100)).outcome, Outcome::kLost);
  EXPECT_EQ(link.enter(seconds(20), data(100)).outcome, Outcome::kDelivered);
  EXPECT_EQ(link.least_delay(), milliseconds(15));
}

}  // namespace
}  // namespace weft::netem
