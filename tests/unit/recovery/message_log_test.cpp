#include "agent/recovery/message_log.h"

#include <gtest/gtest.h>

namespace weft::recovery {
namespace {

using roce::Psn;

wire::MessageDescriptor message(std::uint32_t first_psn, std::uint32_t length_bytes,
                                std::uint64_t va = 0x1000) {
  return {.flow = 1,
          .first_psn = Psn(first_psn),
          .pmtu_bytes = 1024,
          .reth = {.va = va, .rkey = 1, .length_bytes = length_bytes},
          .pkey = 0xffff,
          .mig_req = false,
          .end = std::nullopt};
}

TEST(MessageLog, FindsTheMessageOfAPsnAcrossTheWrap) {
  MessageLog log;
  log.add(message(0xfffffe, 4096));
  ASSERT_NE(log.find(Psn(1)), nullptr);
  EXPECT_EQ(log.find(Psn(1))->offset_of(Psn(1)), 3072U);
  EXPECT_EQ(log.find(Psn(2)), nullptr);
}

TEST(MessageLog, TheLastHeadersAreKnownOnceItsEndIs) {
  MessageLog log;
  log.add(message(0, 2000));
  EXPECT_TRUE(log.find(Psn(0))->headers_known(Psn(0)));
  EXPECT_FALSE(log.find(Psn(1))->headers_known(Psn(1)));
  wire::MessageDescriptor whole = message(0, 2000);
  whole.end = wire::MessageEnd{};
  log.add(whole);
  EXPECT_TRUE(log.find(Psn(1))->headers_known(Psn(1)));
  log.add(message(0, 2000));
  EXPECT_TRUE(log.find(Psn(1))->headers_known(Psn(1))) << "a resent beginning takes nothing back";
  EXPECT_EQ(log.find(Psn(1))->payload_bytes(Psn(1)), 976U);
}

TEST(MessageLog, ANewMessageOverTheSamePsnsReplacesTheOld) {
  MessageLog log;
  log.add(message(0, 10 * 1024, 0x1000));
  log.add(message(5, 1024, 0x2000));
  EXPECT_EQ(log.find(Psn(2)), nullptr);
  EXPECT_EQ(log.find(Psn(5))->descriptor.reth.va, 0x2000U);
}

TEST(MessageLog, RefusesWhatCannotBeAndForgetsTheOldest) {
  MessageLog log;
  log.add(message(0, 0));
  wire::MessageDescriptor odd = message(0, 100);
  odd.pmtu_bytes = 1000;
  log.add(odd);
  wire::MessageDescriptor endless = message(0, (1U << 31) + 1);
  endless.pmtu_bytes = 256;
  log.add(endless);
  EXPECT_EQ(log.find(Psn(0)), nullptr);
  for (std::uint32_t i = 0; i < 100; ++i)
    log.add(message(i, 1024));
  EXPECT_EQ(log.find(Psn(0)), nullptr);
  EXPECT_NE(log.find(Psn(99)), nullptr);
}

}  // namespace
}  // namespace weft::recovery
