// The restorer alone, against a lossy link and go-back-N endpoints: what they receive is what was sent, in order.
#include <gtest/gtest.h>

#include "tests/property/restorer_rig.h"
#include "tests/support/seed.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using recovery::Event;
using test::RestorerRig;
using test::RigOptions;

TEST(Restorer, PassesEverythingAtOnceWhenNothingIsLost) {
  RestorerRig rig({}, test::seed());
  EXPECT_TRUE(rig.run(60s));
  rig.print_events();
  EXPECT_EQ(rig.naks(), 0U);
  EXPECT_EQ(rig.longest_hold(), 0ns);
  EXPECT_EQ(rig.counters().total(Event::kHeld), 0U);
  EXPECT_EQ(rig.counters().total(Event::kLostPackets), 0U);
}

TEST(Restorer, RecoversWhatTheCodeCanRecoverBeforeTheReceiverNotices) {
  RestorerRig rig({.r = 12, .loss = 1e-2}, test::seed());
  EXPECT_TRUE(rig.run(60s));
  rig.print_events();
  EXPECT_GT(rig.sources_lost(), 10U);
  EXPECT_EQ(rig.naks(), 0U);
  EXPECT_EQ(rig.resent(), 0U);
}

TEST(Restorer, LeavesToTheEndpointWhatCannotBeRecovered) {
  RestorerRig rig({.r = 1, .loss = 3e-2, .mean_burst = 3}, test::seed());
  EXPECT_TRUE(rig.run(60s));
  rig.restorer().tick(rig.now() + 1s);  // blocks that wait for more repairs expire
  rig.print_events();
  EXPECT_GT(rig.counters().total(Event::kBlockUndecodable), 0U);
  EXPECT_GT(rig.counters().total(Event::kReleasedUndecodable), 0U);
  EXPECT_LE(rig.longest_hold(), rig.restorer().hold_bound());
}

TEST(Restorer, CountsLossesAsTheLinkHadThem) {
  RestorerRig rig({.messages_per_flow = 200, .r = 12, .loss = 2e-2, .mean_burst = 4}, test::seed());
  EXPECT_TRUE(rig.run(60s));
  wire::Feedback feedback;
  rig.restorer().fill_feedback(feedback, rig.now() + 1s);
  const auto lost = static_cast<double>(rig.sources_lost());
  EXPECT_NEAR(static_cast<double>(feedback.loss.lost_packets), lost, lost * 0.1);
  EXPECT_NEAR(static_cast<double>(feedback.loss.expected_packets), static_cast<double>(rig.sources_sent()),
              static_cast<double>(rig.sources_sent()) * 0.05);
  const double burst =
      static_cast<double>(feedback.loss.lost_packets) / static_cast<double>(feedback.loss.loss_runs);
  EXPECT_GT(burst, 2);  // repairs take their share of every burst
  EXPECT_LT(burst, 6);
}

constexpr recovery::ClassId kDpLow = 2;
constexpr recovery::ClassId kPp = 3;

TEST(Restorer, FillsWhatWasSentAndLostAndReportsIt) {
  RestorerRig rig({.messages_per_flow = 30,
                   .max_message_packets = 400,
                   .class_id = kDpLow,
                   .coded = false,
                   .manifests = true,
                   .loss = 3e-3,
                   .mean_burst = 2},
                  test::seed());
  EXPECT_TRUE(rig.run(120s));
  rig.finish();
  rig.print_events();
  EXPECT_GT(rig.counters().total(Event::kFilled), 5U);
  EXPECT_GT(rig.counters().total(Event::kHeldClosedByFill), 5U);
  rig.check_fills(1e-2, 5e-2);
  EXPECT_LE(rig.longest_hold(), rig.restorer_hold_bound());
}

TEST(Restorer, KeepsTheBudgetWhenLossIsBeyondIt) {
  std::uint64_t filled = 0;
  std::uint64_t refused = 0;
  // Now and then a run hardly ever finds out whose answers are whose, and does not fill.
  for (std::uint64_t run = 0; run < 8 && (filled == 0 || refused == 0); ++run) {
    RestorerRig rig({.messages_per_flow = 30,
                     .max_message_packets = 400,
                     .class_id = kDpLow,
                     .coded = false,
                     .manifests = true,
                     .fill_budget = 2e-3,
                     .loss = 5e-2,
                     .mean_burst = 4,
                     .reorder = 0.01,
                     .duplicate = 0.01},
                    test::seed() + run);
    EXPECT_TRUE(rig.run(240s));
    rig.finish();
    rig.print_events();
    rig.check_fills(2e-3, 5e-2);
    filled += rig.counters().total(Event::kFilled);
    refused += rig.counters().total(Event::kFillRefusedBudget);
  }
  EXPECT_GT(filled, 0U);
  EXPECT_GT(refused, 0U);
}

TEST(Restorer, FillsWhatTheCodeCouldNotRecover) {
  RestorerRig rig({.messages_per_flow = 60,
                   .max_message_packets = 400,
                   .class_id = kPp,
                   .level = 5,
                   .manifests = true,
                   .r = 1,
                   .loss = 1e-3,
                   .mean_burst = 4},
                  test::seed());
  EXPECT_TRUE(rig.run(240s));
  rig.finish();
  rig.print_events();
  rig.check_fills(1e-4, 1e-2);
}

TEST(Restorer, NeverFillsAClassWithoutBudget) {
  RestorerRig rig({.messages_per_flow = 20,
                   .max_message_packets = 400,
                   .class_id = kPp,
                   .level = 0,
                   .coded = false,
                   .manifests = true,
                   .loss = 1e-2},
                  test::seed());
  EXPECT_TRUE(rig.run(240s));
  rig.finish();
  EXPECT_EQ(rig.counters().total(Event::kFilled), 0U);
  rig.check_fills(0, 0);
}

TEST(Restorer, DoesNotFillWhileItCannotTellWhoseAnswersAreWhose) {
  RestorerRig rig({.messages_per_flow = 20,
                   .max_message_packets = 400,
                   .class_id = kDpLow,
                   .coded = false,
                   .manifests = true,
                   .answers_seen = false,
                   .loss = 1e-2},
                  test::seed());
  EXPECT_TRUE(rig.run(240s));
  EXPECT_EQ(rig.counters().total(Event::kFilled), 0U);
  EXPECT_GT(rig.counters().total(Event::kFillRefusedAmbiguous), 0U);
}

struct Named {
  const char* name;
  RigOptions options;
};

class RestorerUnder : public testing::TestWithParam<Named> {};

TEST_P(RestorerUnder, DeliversEveryByteInOrderAndHoldsNothingTooLong) {
  RestorerRig rig(GetParam().options, test::seed());
  EXPECT_TRUE(rig.run(120s));
  rig.print_events();
  std::printf("  naks %llu timeouts %llu lost %llu of %llu, longest hold %.3f ms, took %.1f ms\n",
              static_cast<unsigned long long>(rig.naks()), static_cast<unsigned long long>(rig.timeouts()),
              static_cast<unsigned long long>(rig.sources_lost()),
              static_cast<unsigned long long>(rig.sources_sent()),
              std::chrono::duration<double, std::milli>(rig.longest_hold()).count(),
              std::chrono::duration<double, std::milli>(rig.finished_at()).count());
  EXPECT_LE(rig.longest_hold(), rig.restorer().hold_bound());
}

INSTANTIATE_TEST_SUITE_P(
    Faults, RestorerUnder,
    testing::Values(
        Named{"reorder", {.reorder = 0.05}}, Named{"duplicate", {.duplicate = 0.05}},
        Named{"corrupt", {.corrupt = 0.02}},
        Named{"everything",
              {.loss = 1e-2, .mean_burst = 4, .reorder = 0.02, .duplicate = 0.02, .corrupt = 0.01}},
        Named{"heavy",
              {.r = 2, .loss = 5e-2, .mean_burst = 4, .reorder = 0.05, .duplicate = 0.05, .corrupt = 0.01}},
        Named{"uncoded", {.coded = false, .loss = 1e-2}},
        Named{"psn_wrap", {.first_psn = roce::Psn(0xfffff0), .loss = 1e-2}},
        Named{"ipv6_vlans", {.ipv6 = true, .vlans = 2, .loss = 1e-2, .reorder = 0.02}},
        Named{"uc", {.unreliable_connection = true, .loss = 1e-2, .reorder = 0.02, .duplicate = 0.02}},
        Named{"reads", {.reads = true, .loss = 1e-2, .reorder = 0.02}},
        Named{"one_flow", {.flows = 1, .messages_per_flow = 200, .loss = 1e-2, .mean_burst = 4}},
        Named{"many_flows", {.flows = 64, .messages_per_flow = 10, .loss = 1e-2}},
        Named{"no_room_to_hold", {.loss = 1e-2, .limits = {.held_frames = 8}}},
        Named{"no_room_to_keep", {.loss = 1e-2, .limits = {.kept_frames = 16}}},
        Named{"few_blocks", {.loss = 1e-2, .limits = {.blocks = 2}}},
        Named{"few_flows", {.flows = 8, .loss = 1e-2, .limits = {.flows = 4}}},
        Named{"long_rtt", {.loss = 1e-2, .one_way = 30ms}}),
    [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace weft
