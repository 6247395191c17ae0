#include "testbed/rc/driver/fill_log.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace weft::rc {
namespace {

class FillLog : public testing::Test {
 protected:
  // Two messages of 3000 bytes on one queue pair: PSNs 0..2 and 3..5, in one buffer.
  FillLog() : plan(make_plan({{3000, {"pp", 34}}, {3000, {"pp", 34}}}, {.first_psn = 0})) {}

  std::string line(std::uint32_t psn, std::uint64_t offset, std::uint64_t bytes) const {
    return fmt::format(R"({{"t_ns":1,"flow":{{"src":"10.1.0.2","dst":"10.2.0.2","dst_qpn":{}}},"psn":{},)"
                       R"("va":"{:#x}","rkey":{},"offset":{},"len":{},"class":"pp","level":5}})"
                       "\n",
                       plan.qps[0].responder_qpn, psn, plan.slots[0].va, plan.slots[0].rkey, offset, bytes);
  }
  Plan plan;
};

TEST_F(FillLog, PsnTellsMessagesOfOneBufferApart) {
  const auto fills =
      read_fill_log(line(1, 1024, 1024) + line(5, 2048, 952) + line(4, 1024, 1024), plan, 1024, "log");
  ASSERT_TRUE(fills);
  EXPECT_EQ((*fills)[0], (std::vector<ByteRange>{{1024, 1024}}));
  EXPECT_EQ((*fills)[1], (std::vector<ByteRange>{{1024, 1976}}));
}

TEST_F(FillLog, AFillOfNoPacketIsAnError) {
  for (const std::string& bad : {line(6, 0, 1024), line(1, 0, 1024), line(2, 2048, 1024), std::string("{}\n"),
                                 std::string("what\n")}) {
    const auto fills = read_fill_log(line(0, 0, 1024) + bad, plan, 1024, "log");
    ASSERT_FALSE(fills) << bad;
    EXPECT_EQ(fills.error().where, "log:2");
  }
}

TEST(Ranges, WhatIsNotDeclaredIsCounted) {
  const std::vector<ByteRange> zeros{{0, 100}, {200, 50}};
  EXPECT_EQ(undeclared_bytes(zeros, {}), 150U);
  EXPECT_EQ(undeclared_bytes(zeros, {{0, 100}, {150, 200}}), 0U);
  EXPECT_EQ(undeclared_bytes(zeros, {{50, 160}}), 90U);
}

}  // namespace
}  // namespace weft::rc
