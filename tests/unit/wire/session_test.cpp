// Two sessions find each other, keep each other, and nobody else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/wire/peer_session.h"
#include "tests/support/random_message.h"
#include "tests/support/seed.h"
#include "tests/support/session_pair.h"

namespace weft::wire {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using test::encoded;
using test::SessionPair;
using test::Side;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Nanoseconds kOneWay = milliseconds(15);

class Session : public testing::Test {
 protected:
  SessionPair pair_{test::seed(), kOneWay};
  PeerSession& side_a() { return pair_.session(Side::kA); }
  PeerSession& side_b() { return pair_.session(Side::kB); }

  // Why a side refuses a packet; nullopt when it does not.
  std::optional<Refusal> refusal_of(Side side, const Bytes& packet) {
    const auto opened = pair_.open_at(side, packet);
    return opened ? std::nullopt : std::optional(opened.error());
  }

  Bytes repair_from(Side side) {
    Rng rng = test::rng(7);
    Bytes symbol;
    return pair_.sealed(side, PacketType::kRepair, encoded(test::random_repair(rng, symbol)));
  }
};

TEST_F(Session, BothReadyWithinTwoRoundTrips) {
  pair_.run(4 * kOneWay + milliseconds(3));
  EXPECT_TRUE(side_a().ready());
  EXPECT_TRUE(side_b().ready());
  EXPECT_THAT(pair_.take_events(Side::kA), ElementsAre(PeerEvent::kUp));
  EXPECT_EQ(side_a().peer_hello()->boot_id, side_b().own_boot_id());
  EXPECT_EQ(side_a().peer_hello()->mtu_bytes, 1500);
}

TEST_F(Session, OneSideWithDataIsEnough) {
  for (int i = 0; i < 200; ++i) {
    side_a().on_data(pair_.now());
    pair_.run(milliseconds(1), false);
  }
  EXPECT_TRUE(side_a().ready());
  EXPECT_TRUE(side_b().ready());
}

TEST_F(Session, NoHelloWithoutData) {
  pair_.run(seconds(5), false);
  EXPECT_THAT(pair_.sent_to(Side::kA), IsEmpty());
  EXPECT_THAT(pair_.sent_to(Side::kB), IsEmpty());
}

TEST_F(Session, HellosToNobodyGrowRare) {
  pair_.loses = [](Side, PacketType) { return true; };
  pair_.run(seconds(10));
  EXPECT_GE(pair_.sent_count(Side::kA, PacketType::kHello), 10U);
  EXPECT_LE(pair_.sent_count(Side::kA, PacketType::kHello), 14U);
  EXPECT_EQ(pair_.sent_count(Side::kA, PacketType::kFeedback), 0U);
  EXPECT_FALSE(side_a().ready());
}

TEST_F(Session, HelloEndsOnceComplete) {
  pair_.run(seconds(5));
  EXPECT_LE(pair_.sent_count(Side::kA, PacketType::kHello), 5U);
  EXPECT_LE(pair_.sent_count(Side::kB, PacketType::kHello), 5U);
}

TEST_F(Session, NothingIsSealedOrAcceptedBeforeTheHello) {
  EXPECT_THAT(repair_from(Side::kA), IsEmpty());
  pair_.run(2 * kOneWay + milliseconds(4));  // A has seen its echo, B perhaps too; neither knows of the other
  ASSERT_FALSE(side_b().ready());
  const Bytes early = repair_from(Side::kA);
  ASSERT_FALSE(early.empty());
  EXPECT_EQ(refusal_of(Side::kB, early), Refusal::kNotReady);
}

TEST_F(Session, AcceptsWhatThePeerSealedOnce) {
  pair_.run(milliseconds(200));
  const Bytes repair = repair_from(Side::kA);
  const auto opened = pair_.open_at(Side::kB, repair);
  ASSERT_TRUE(opened) << describe(opened.error());
  EXPECT_EQ(opened->header.type, PacketType::kRepair);
  EXPECT_TRUE(decode_repair(opened->body));
  EXPECT_EQ(refusal_of(Side::kB, repair), Refusal::kReplayed);
  EXPECT_EQ(refusal_of(Side::kA, repair), Refusal::kUnknownSender) << "sent back to its sender";
}

TEST_F(Session, AnyFlippedBitIsRefused) {
  pair_.run(milliseconds(200));
  const Bytes repair = repair_from(Side::kA);
  for (std::size_t bit = 0; bit < repair.size() * 8; ++bit) {
    Bytes damaged = repair;
    damaged[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
    EXPECT_FALSE(pair_.open_at(Side::kB, damaged)) << "bit " << bit;
  }
  EXPECT_TRUE(pair_.open_at(Side::kB, repair)) << "the attempts cost the genuine one nothing";
}

TEST_F(Session, FeedbackOncePerRoundTripThenFourASecond) {
  pair_.run(seconds(1));
  const std::size_t before = pair_.sent_count(Side::kA, PacketType::kFeedback);
  pair_.run(seconds(3));
  const std::size_t active = pair_.sent_count(Side::kA, PacketType::kFeedback) - before;
  EXPECT_NEAR(static_cast<double>(active), 3000.0 / 30, 15);
  pair_.run(seconds(2), false);
  const std::size_t pause = pair_.sent_count(Side::kA, PacketType::kFeedback);
  pair_.run(seconds(10), false);
  EXPECT_NEAR(static_cast<double>(pair_.sent_count(Side::kA, PacketType::kFeedback) - pause), 40, 2);
  EXPECT_TRUE(side_a().ready()) << "a pause in computing does not cost protection";
}

TEST_F(Session, IdleForTenMinutesThenQuietThenBackAtOnce) {
  pair_.run(seconds(1));
  pair_.run(minutes(11), false);
  EXPECT_FALSE(side_a().ready());
  const std::size_t quiet = pair_.sent_to(Side::kA).size() + pair_.sent_to(Side::kB).size();
  pair_.run(seconds(30), false);
  EXPECT_EQ(pair_.sent_to(Side::kA).size() + pair_.sent_to(Side::kB).size(), quiet);
  pair_.run(2 * kOneWay + milliseconds(3));
  EXPECT_TRUE(side_a().ready());
  EXPECT_TRUE(side_b().ready());
}

TEST_F(Session, MeasuresTheRoundTrip) {
  pair_.run(seconds(1));
  ASSERT_TRUE(side_a().rtt());
  EXPECT_NEAR(static_cast<double>(side_a().rtt()->count()), 30e6, 2e6);
}

TEST_F(Session, SilenceIsNoticedWithinItsBounds) {
  pair_.run(seconds(1));
  ASSERT_TRUE(side_a().ready());
  pair_.loses = [](Side to, PacketType) { return to == Side::kA; };
  pair_.take_events(Side::kA);
  pair_.run(milliseconds(250));
  EXPECT_TRUE(side_a().ready());
  pair_.run(milliseconds(150));
  EXPECT_FALSE(side_a().ready());
  EXPECT_THAT(pair_.take_events(Side::kA), ElementsAre(PeerEvent::kDown));
  const Bytes repair = repair_from(Side::kB);
  EXPECT_EQ(refusal_of(Side::kA, repair), Refusal::kNotReady);

  pair_.loses = [](Side, PacketType) { return false; };
  pair_.run(milliseconds(300));
  EXPECT_TRUE(side_a().ready()) << "the same peer is known again by its next feedback";
  EXPECT_THAT(pair_.take_events(Side::kA), ElementsAre(PeerEvent::kUp));
}

TEST_F(Session, IdleSilenceIsNoticedWithinASecond) {
  pair_.run(seconds(1));
  pair_.run(seconds(5), false);
  pair_.loses = [](Side, PacketType) { return true; };
  pair_.run(milliseconds(700), false);
  EXPECT_TRUE(side_a().ready());
  pair_.run(milliseconds(350), false);
  EXPECT_FALSE(side_a().ready());
}

TEST_F(Session, ARestartIsAdoptedAndOldKeysAreGone) {
  pair_.run(seconds(1));
  const Bytes old_repair = repair_from(Side::kB);
  pair_.take_events(Side::kA);
  pair_.restart(Side::kB);
  pair_.run(milliseconds(200));
  EXPECT_TRUE(side_a().ready());
  EXPECT_TRUE(side_b().ready());
  EXPECT_THAT(pair_.take_events(Side::kA), ElementsAre(PeerEvent::kRestarted, PeerEvent::kUp));
  EXPECT_EQ(refusal_of(Side::kA, old_repair), Refusal::kUnknownSender);
}

TEST_F(Session, ARestartedIdlePeerIsWokenByOurFeedback) {
  pair_.run(seconds(1));
  pair_.run(seconds(2), false);
  pair_.restart(Side::kB);
  pair_.run(milliseconds(400), false);
  EXPECT_TRUE(side_a().ready());
  EXPECT_TRUE(side_b().ready());
}

TEST_F(Session, RecordedHellosResetNothing) {
  pair_.run(seconds(1));
  const std::vector<Bytes> first_life = pair_.sent_to(Side::kA);
  pair_.restart(Side::kB);
  pair_.run(seconds(1));
  pair_.take_events(Side::kA);
  const BootId peer = side_a().peer_hello()->boot_id;
  for (const Bytes& recorded : first_life) {
    pair_.inject(Side::kA, recorded);
    pair_.run(milliseconds(3));
  }
  pair_.run(seconds(1));
  EXPECT_EQ(side_a().peer_hello()->boot_id, peer);
  EXPECT_TRUE(side_a().ready());
  EXPECT_THAT(pair_.take_events(Side::kA), IsEmpty());
}

TEST_F(Session, RecordedHellosDoNotBringAFloodOfAnswers) {
  std::vector<Bytes> first_hellos;  // of two lives that are over
  for (int life = 0; life < 2; ++life) {
    const std::size_t before = pair_.sent_to(Side::kA).size();
    pair_.run(seconds(1));
    first_hellos.push_back(pair_.sent_to(Side::kA).at(before));
    ASSERT_EQ(looks_like_weft(first_hellos.back()), PacketType::kHello);
    pair_.restart(Side::kB);
  }
  pair_.run(seconds(1));
  const std::size_t before = pair_.sent_count(Side::kA, PacketType::kHello);
  for (int i = 0; i < 500; ++i) {
    pair_.inject(Side::kA, first_hellos[static_cast<std::size_t>(i) % 2]);
    pair_.run(milliseconds(2));
  }
  const std::size_t answers = pair_.sent_count(Side::kA, PacketType::kHello) - before;
  EXPECT_GT(answers, 5U);
  EXPECT_LT(answers, 40U);
  EXPECT_TRUE(side_a().ready());
}

TEST_F(Session, ItsOwnPacketsSentBackAreRefused) {
  pair_.run(milliseconds(500));
  for (const Bytes& own : pair_.sent_to(Side::kB))
    EXPECT_EQ(refusal_of(Side::kA, own), Refusal::kUnknownSender);
}

TEST_F(Session, ForgedBootIdsAreBoundedInCost) {
  pair_.run(seconds(1));
  Rng rng = test::rng(9);
  std::size_t bad_tags = 0;
  std::size_t too_many = 0;
  for (int i = 0; i < 1000; ++i) {
    Hello hello = test::random_hello(rng);
    hello.echoed_boot_id = side_a().own_boot_id();
    Bytes forged(kEnvelopeBytes);
    write_header(
        {.type = PacketType::kHello, .boot_id_prefix = load_be64(hello.boot_id.data()), .counter = 1},
        forged);
    const Bytes body = encoded(hello);
    forged.insert(forged.begin() + kHeaderBytes, body.begin(), body.end());
    const auto refusal = refusal_of(Side::kA, forged);
    bad_tags += refusal == Refusal::kBadTag ? 1 : 0;
    too_many += refusal == Refusal::kTooManyHellos ? 1 : 0;
  }
  EXPECT_EQ(bad_tags + too_many, 1000U);
  EXPECT_LE(bad_tags, 20U);
  EXPECT_TRUE(side_a().ready());
}

TEST_F(Session, AnotherKeyIsRefused) {
  SessionPair strangers(test::seed() + 1, kOneWay);
  strangers.run(milliseconds(100));
  for (const Bytes& packet : strangers.sent_to(Side::kA)) {
    EXPECT_THAT(refusal_of(Side::kA, packet), testing::AnyOf(Refusal::kBadTag, Refusal::kUnknownSender));
  }
}

TEST(SessionClasses, AreTheSameOnlyWhenTheDigestsAre) {
  PeerSession a({.psk = {}, .own_boot_id = {1}, .classes_digest = 77});
  for (const std::uint64_t digest : {77, 78}) {
    PeerSession b(
        {.psk = {}, .own_boot_id = {2, static_cast<std::uint8_t>(digest)}, .classes_digest = digest});
    EXPECT_FALSE(b.same_classes()) << "nothing known yet";
    Nanoseconds now = milliseconds(digest);
    // Each answers the other until b has seen its own id echoed.
    PeerSession* sender = &b;
    PeerSession* receiver = &a;
    while (!b.peer_hello()) {
      now += milliseconds(60);
      Bytes packet(kEnvelopeBytes + 72);
      encode(sender->next_hello(now), MutableByteView(packet).subspan(kHeaderBytes));
      ASSERT_TRUE(sender->seal(PacketType::kHello, packet));
      ASSERT_TRUE(receiver->open(packet, now));
      std::swap(sender, receiver);
    }
    EXPECT_EQ(b.same_classes(), digest == 77);
  }
}

TEST_F(Session, DeadlinesAreNeverMissed) {
  // Ticking only at deadlines gives the same sending as ticking all the time.
  PeerSession alone({.psk = {}, .own_boot_id = {1}});
  alone.on_data(milliseconds(10));
  Nanoseconds now = milliseconds(10);
  std::vector<Nanoseconds> sent;
  for (int i = 0; i < 4; ++i) {
    now = std::max(now, alone.next_deadline(now));
    alone.on_data(now);
    ASSERT_TRUE(alone.hello_due(now));
    (void)alone.next_hello(now);
    sent.push_back(now);
  }
  EXPECT_THAT(sent, ElementsAre(milliseconds(10), milliseconds(110), milliseconds(310), milliseconds(710)));
  EXPECT_EQ(PeerSession({.psk = {}, .own_boot_id = {1}}).next_deadline(now), Nanoseconds::max());
}

}  // namespace
}  // namespace weft::wire
