// P10 over a hostile path: whatever is lost, delayed, reordered, recorded, damaged and played back, and whenever
// either side restarts, a side accepts only what the other's present life sealed for its own present life, each
// packet once; the peer's boot id never goes back; and once the path behaves, both are ready.
#include <map>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "tests/support/random_message.h"
#include "tests/support/seed.h"
#include "tests/support/session_pair.h"

namespace weft::wire {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::Side;

// What happened in all runs together: a fault that never happened proves nothing.
struct Hits {
  std::size_t accepted = 0;
  std::size_t lost = 0;
  std::size_t reordered = 0;
  std::size_t replayed = 0;
  std::size_t damaged = 0;
  std::size_t restarts = 0;
  std::size_t restarts_in_hello = 0;
  std::size_t adoptions = 0;
};

class HostileRun {
 public:
  HostileRun(std::uint64_t seed, Hits& hits)
      : rng_(seed),
        hits_(hits),
        loss_(rng_.chance(0.3) ? 0 : rng_.uniform() * 0.7),
        pair_(rng_.next(), milliseconds(rng_.between(1, 30))) {
    pair_.loses = [this](Side, PacketType) {
      const bool lost = hostile_ && rng_.chance(loss_);
      hits_.lost += lost ? 1 : 0;
      return lost;
    };
    pair_.extra_delay = [this](Side) {
      if (!hostile_ || !rng_.chance(0.3)) return Nanoseconds(0);
      ++hits_.reordered;
      return Nanoseconds(milliseconds(rng_.below(200)));
    };
    pair_.on_opened = [this](Side at, const Bytes& payload, const Opened& opened) {
      on_opened(at, payload, opened);
    };
    started(Side::kA);
    started(Side::kB);
  }

  void run() {
    const double restart_chance = rng_.chance(0.5) ? 0.002 : 0.02;
    for (int ms = 0; ms < 3000; ++ms) {
      if (rng_.chance(restart_chance)) restart(rng_.chance(0.5) ? Side::kA : Side::kB);
      if (rng_.chance(0.3)) attack(rng_.chance(0.5) ? Side::kA : Side::kB);
      step();
    }
    hostile_ = false;
    for (int ms = 0; ms < 2500; ++ms)
      step();
    for (const Side side : {Side::kA, Side::kB}) {
      ASSERT_TRUE(pair_.session(side).ready());
      ASSERT_EQ(pair_.session(side).peer_hello()->boot_id, pair_.session(test::other(side)).own_boot_id());
    }
  }

 private:
  struct Life {
    std::set<std::tuple<std::uint64_t, std::uint8_t, std::uint64_t>> accepted;  // by sender, lane, counter
    std::size_t newest_peer_life = 0;
  };

  static std::size_t index(Side side) { return static_cast<std::size_t>(side); }

  static bool was_sent(const std::vector<Bytes>& sent, const Bytes& payload) {
    return std::ranges::find(sent.rbegin(), sent.rend(), payload) != sent.rend();
  }

  void started(Side side) {
    lives_of_[index(side)].push_back(pair_.session(side).own_boot_id());
    life_[index(side)] = {};
  }

  void restart(Side side) {
    ++hits_.restarts;
    if (!pair_.session(side).ready()) ++hits_.restarts_in_hello;
    pair_.restart(side);
    started(side);
  }

  // Plays back something recorded, to either side, perhaps damaged.
  void attack(Side victim) {
    const auto& recorded = pair_.sent_to(rng_.chance(0.9) ? victim : test::other(victim));
    if (recorded.empty()) return;
    Bytes packet = recorded[rng_.chance(0.5) ? rng_.below(recorded.size()) : recorded.size() - 1];
    if (rng_.chance(0.3)) {
      packet[rng_.below(packet.size())] ^= static_cast<std::uint8_t>(1U << rng_.below(8));
      ++hits_.damaged;
    }
    ++hits_.replayed;
    pair_.inject(victim, std::move(packet));
  }

  void step() {
    for (const Side side : {Side::kA, Side::kB}) {
      if (pair_.session(side).ready()) pair_.send(side, PacketType::kAckCopy, Bytes(48, 1));
    }
    pair_.run(milliseconds(1));
  }

  void on_opened(Side at, const Bytes& payload, const Opened& opened) {
    ++hits_.accepted;
    Life& life = life_[index(at)];
    // A hello may also be this side's own, of an earlier life, played back: it is authentic, and as it cannot
    // echo the present life it changes nothing.
    const bool sealed_by_peer = was_sent(pair_.sent_to(at), payload);
    const bool own_old_hello =
        opened.header.type == PacketType::kHello && was_sent(pair_.sent_to(test::other(at)), payload);
    ASSERT_TRUE(sealed_by_peer || own_old_hello) << "accepted what the other side never sealed";
    const PeerSession& session = pair_.session(at);
    if (!session.peer_hello()) return;

    // The adopted life of the peer only ever moves forward.
    const auto& lives = lives_of_[index(test::other(at))];
    const auto adopted = std::ranges::find(lives, session.peer_hello()->boot_id);
    ASSERT_NE(adopted, lives.end());
    const auto number = static_cast<std::size_t>(adopted - lives.begin());
    ASSERT_GE(number, life.newest_peer_life);
    if (number > life.newest_peer_life) ++hits_.adoptions;
    life.newest_peer_life = number;

    if (opened.header.type == PacketType::kHello) return;
    ASSERT_EQ(opened.header.boot_id_prefix, load_be64(adopted->data()));
    ASSERT_TRUE(
        life.accepted.emplace(opened.header.boot_id_prefix, opened.header.lane, opened.header.counter).second)
        << "accepted twice";
  }

  Rng rng_;
  Hits& hits_;
  double loss_;
  bool hostile_ = true;
  test::SessionPair pair_;
  std::array<std::vector<BootId>, 2> lives_of_;
  std::array<Life, 2> life_;
};

TEST(SessionProperty, OnlyThePresentPeerAndEachPacketOnce) {
  Hits hits;
  for (std::uint64_t run = 0; run < 100; ++run) {
    SCOPED_TRACE(run);
    HostileRun(test::rng(run).next(), hits).run();
    if (HasFatalFailure()) return;
  }
  std::printf(
      "accepted %zu lost %zu reordered %zu replayed %zu damaged %zu restarts %zu (in hello %zu) adoptions "
      "%zu\n",
      hits.accepted, hits.lost, hits.reordered, hits.replayed, hits.damaged, hits.restarts,
      hits.restarts_in_hello, hits.adoptions);
  EXPECT_GT(hits.accepted, 10'000U);
  EXPECT_GT(hits.lost, 0U);
  EXPECT_GT(hits.reordered, 0U);
  EXPECT_GT(hits.replayed, 0U);
  EXPECT_GT(hits.damaged, 0U);
  EXPECT_GT(hits.restarts, 100U);
  EXPECT_GT(hits.restarts_in_hello, 20U);
  EXPECT_GT(hits.adoptions, 20U);
}

// A nonce is never used twice with one key: (boot id, lane, counter) of everything sealed.
TEST(SessionProperty, NoNonceTwice) {
  test::SessionPair pair(test::seed(), milliseconds(10));
  std::set<std::pair<std::uint64_t, std::uint64_t>> nonces;
  for (int i = 0; i < 20; ++i) {
    pair.run(milliseconds(300));
    pair.restart(i % 2 == 0 ? Side::kA : Side::kB);
  }
  for (const Side side : {Side::kA, Side::kB}) {
    for (const Bytes& packet : pair.sent_to(side)) {
      const Header header = parse_header(packet).value();
      EXPECT_TRUE(nonces.emplace(header.boot_id_prefix, header.counter).second);
    }
  }
  EXPECT_GT(nonces.size(), 100U);
}

}  // namespace
}  // namespace weft::wire
