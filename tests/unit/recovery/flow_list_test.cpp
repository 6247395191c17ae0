#include "agent/recovery/flow_list.h"

#include <gtest/gtest.h>

namespace weft::recovery {
namespace {

TEST(NewestFlows, KeepsTheLatestAndCountsAll) {
  NewestFlows flows(3);
  for (const int at : {5, 1, 9, 3, 7}) {
    FlowStatus flow;
    flow.last_packet_at = Time(at);
    flows.add(flow);
  }
  EXPECT_EQ(flows.seen(), 5U);
  const std::vector<FlowStatus> kept = flows.take();
  ASSERT_EQ(kept.size(), 3U);
  EXPECT_EQ(kept[0].last_packet_at, Time(9));
  EXPECT_EQ(kept[1].last_packet_at, Time(7));
  EXPECT_EQ(kept[2].last_packet_at, Time(5));
}

}  // namespace
}  // namespace weft::recovery
