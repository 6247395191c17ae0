#include "agent/recovery/ack_order.h"

#include <gtest/gtest.h>

namespace weft::recovery {
namespace {

using roce::Psn;

AckOrder::Ack ack(std::uint32_t psn) { return {.psn = Psn(psn), .syndrome = 0x1f, .icrc = psn}; }
AckOrder::Ack nak(std::uint32_t psn, std::uint32_t icrc = 1) {
  return {.psn = Psn(psn), .syndrome = roce::kNakPsnSequenceError, .icrc = icrc};
}

TEST(AckOrder, ACopyIsNewsOnlyIfNeitherItNorAnythingNewerWasDelivered) {
  AckOrder order;
  order.delivered(ack(0xffffff));
  EXPECT_FALSE(order.copy_is_news(ack(0xffffff)));
  EXPECT_FALSE(order.copy_is_news(ack(0xfffff0)));
  EXPECT_TRUE(order.copy_is_news(ack(3)));
  order.delivered(ack(3));
  EXPECT_FALSE(order.copy_is_news(ack(3)));
}

TEST(AckOrder, AtOnePsnTheAcknowledgementFollowsTheNak) {
  AckOrder order;
  order.delivered(nak(10));
  EXPECT_TRUE(order.copy_is_news(ack(10)));
  EXPECT_FALSE(order.copy_is_news(nak(10))) << "its original was delivered";
  order.delivered(ack(10));
  EXPECT_FALSE(order.copy_is_news(nak(10)));
}

TEST(AckOrder, ANakIsCopiedOnceAtMost) {
  AckOrder order;
  order.delivered(ack(5));
  EXPECT_TRUE(order.copy_is_news(nak(6)));
  order.delivered(nak(6));
  EXPECT_FALSE(order.copy_is_news(nak(6)));
  EXPECT_FALSE(order.copy_is_news(nak(6, 99))) << "sent again with other bytes, it is the same rewind";
}

TEST(AckOrder, OfAFlowNobodyHasSeenOnlyAnAcknowledgementIsHarmless) {
  const AckOrder order;
  EXPECT_TRUE(order.copy_is_news(ack(5)));
  EXPECT_FALSE(order.copy_is_news(nak(5)));
}

TEST(AckOrder, ReadDataAcknowledgesWhatIsBeforeIt) {
  AckOrder order;
  order.delivered_data(Psn(8));
  EXPECT_FALSE(order.copy_is_news(ack(7)));
  EXPECT_TRUE(order.copy_is_news(ack(9)));
}

TEST(AckOrder, ACopyOfTheQueuePairsFormerLifeIsStale) {
  for (const std::uint32_t first : {100U, 1U << 22, 0xf00000U}) {
    AckOrder order;
    order.delivered(ack(0x800000));
    order.delivered(ack(first));
    EXPECT_FALSE(order.copy_is_news(ack(0x800000))) << first;
    EXPECT_TRUE(order.copy_is_news(ack(first + 16))) << first;
  }
}

}  // namespace
}  // namespace weft::recovery
