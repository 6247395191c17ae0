#include "agent/recovery/tx_flow_table.h"

#include <gtest/gtest.h>

namespace weft::recovery {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

roce::FlowKey key(std::uint32_t qpn) {
  roce::FlowKey flow;
  flow.dest_qpn = qpn;
  return flow;
}

TxFlow* packet(TxFlowTable& table, std::uint32_t qpn, std::uint32_t psn, Time now,
               wire::StreamId stream = {}) {
  return table.on_packet(key(qpn), stream, roce::Psn(psn), 1, {}, now);
}

TEST(TxFlowTable, AFlowKeepsItsIdThroughWrapAndRetransmission) {
  TxFlowTable table(10);
  const wire::FlowId id = packet(table, 1, 0xfffffe, seconds(1))->id;
  for (const std::uint32_t psn : {0xffffffU, 0U, 1U, 0xfffff0U, 2U}) {
    const TxFlow* flow = packet(table, 1, psn, seconds(1));
    EXPECT_EQ(flow->id, id);
    EXPECT_EQ(flow->epoch, 0);
  }
  EXPECT_EQ(table.find(id)->next_psn, roce::Psn(3));
}

TEST(TxFlowTable, AReadRequestsPsnsAreNoJump) {
  TxFlowTable table(10);
  constexpr std::uint32_t kRead = (1U << 21) - 10;
  table.on_packet(key(1), {}, roce::Psn(0), kRead, {}, seconds(1));
  EXPECT_EQ(packet(table, 1, kRead + 20, seconds(1))->epoch, 0);
}

TEST(TxFlowTable, AJumpOrAnotherClassGivesANewId) {
  TxFlowTable table(10);
  const wire::FlowId first = packet(table, 1, 5, seconds(1))->id;
  const TxFlow* jumped = packet(table, 1, 5 + (1U << 22), seconds(1));
  EXPECT_NE(jumped->id, first);
  EXPECT_EQ(jumped->epoch, 1);
  EXPECT_EQ(table.find(first), nullptr);
  const TxFlow* moved = packet(table, 1, 6 + (1U << 22), seconds(1), {.class_id = 2});
  EXPECT_EQ(moved->epoch, 1);
  EXPECT_FALSE(moved->confirmed);
  EXPECT_EQ(table.size(), 1U);
}

TEST(TxFlowTable, AnIdRestsBeforeItIsUsedAgain) {
  TxFlowTable table(2);
  packet(table, 1, 0, seconds(1));
  packet(table, 1, 1U << 22, seconds(1));
  EXPECT_EQ(packet(table, 2, 0, seconds(2)), nullptr);
  EXPECT_NE(packet(table, 2, 0, seconds(3)), nullptr);
}

TEST(TxFlowTable, SilentFlowsMakeRoom) {
  TxFlowTable table(1);
  packet(table, 1, 0, seconds(1));
  table.expire(seconds(60));
  EXPECT_EQ(packet(table, 2, 0, seconds(60)), nullptr);
  table.expire(seconds(62));
  EXPECT_EQ(table.size(), 0U);
  EXPECT_NE(packet(table, 2, 0, seconds(65)), nullptr);
}

TEST(TxFlowTable, AFlowSilentForLongIsAnnouncedAgain) {
  TxFlowTable table(10);
  const wire::FlowId id = packet(table, 1, 0, seconds(1))->id;
  EXPECT_NE(table.take_due_announcement(seconds(1), milliseconds(10)), nullptr);
  table.confirm(std::array{id});
  EXPECT_EQ(table.take_due_announcement(seconds(2), milliseconds(10)), nullptr);
  packet(table, 1, 1, seconds(9));
  EXPECT_EQ(table.take_due_announcement(seconds(9), milliseconds(10)), nullptr);
  packet(table, 1, 2, seconds(20));
  EXPECT_NE(table.take_due_announcement(seconds(20), milliseconds(10)), nullptr);
}

TEST(TxFlowTable, AFlowThatStoppedIsNotAnnouncedUntilItSends) {
  TxFlowTable table(10);
  packet(table, 1, 0, seconds(1));
  Time now = seconds(1);
  int announced = 0;
  while (table.next_announcement() && *table.next_announcement() < seconds(30)) {
    now = *table.next_announcement();
    if (table.take_due_announcement(now, milliseconds(50)) != nullptr) ++announced;
  }
  EXPECT_EQ(announced, 4);  // 0, 50, 150, 350 ms; 750 is too long after its packet
  packet(table, 1, 1, seconds(5));
  EXPECT_NE(table.take_due_announcement(seconds(5), milliseconds(50)), nullptr);
}

}  // namespace
}  // namespace weft::recovery
