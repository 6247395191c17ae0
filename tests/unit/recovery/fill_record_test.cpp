#include "agent/recovery/fill_record.h"

#include <gtest/gtest.h>

#include "agent/recovery/fill_ledger.h"
#include "agent/recovery/fill_log.h"

namespace weft::recovery {
namespace {

FillRecord record(std::uint32_t psn) {
  return {.at = Time(12345),
          .src = *roce::IpAddress::parse("10.1.0.1"),
          .dst = *roce::IpAddress::parse("10.2.0.1"),
          .dst_qpn = 17,
          .psn = roce::Psn(psn),
          .va = 0x7f0000001000,
          .rkey = 99,
          .offset_bytes = 2048,
          .payload_bytes = 1024,
          .tag = {.class_id = 2, .level = 3, .layer = 7}};
}

TEST(FillRecord, IsALineOfTheFillLog) {
  EXPECT_EQ(
      to_json_line(record(5), "dp-low"),
      R"({"t_ns":12345,"flow":{"src":"10.1.0.1","dst":"10.2.0.1","dst_qpn":17},"psn":5,)"
      R"("va":"0x7f0000001000","rkey":99,"offset":2048,"len":1024,"class":"dp-low","level":3,"layer":7})");
}

TEST(FillLog, TellsAReaderThatFellBehindWhatItMissed) {
  FillLog log(2);
  for (std::uint32_t psn = 0; psn < 5; ++psn)
    log.on_fill(record(psn));
  const FillLog::Taken taken = log.take();
  EXPECT_EQ(taken.missed, 3U);
  ASSERT_EQ(taken.records.size(), 2U);
  EXPECT_EQ(taken.records[0].psn, roce::Psn(3));
  EXPECT_EQ(log.take().missed, 0U);
}

TEST(FillLedger, GivesEachFillOnceAndIsFullAtItsCap) {
  FillLedger ledger(3);
  for (const std::uint32_t psn : {0xffffffU, 0U, 1U})
    ledger.add(7, {.record = record(psn), .message_first_psn = roce::Psn(0xffffff), .stream = {}});
  EXPECT_TRUE(ledger.full());
  std::vector<std::uint32_t> taken;
  const auto take = [&](const PendingFill& fill) { taken.push_back(fill.record.psn.value); };
  ledger.take_before(7, roce::Psn(1), take);
  EXPECT_EQ(taken, (std::vector<std::uint32_t>{0xffffff, 0}));
  ledger.take_before(7, roce::Psn(1), take);
  ledger.take_all(8, take);
  EXPECT_EQ(taken.size(), 2U);
  EXPECT_EQ(ledger.find(7, roce::Psn(0)), nullptr);
  EXPECT_EQ(ledger.find(7, roce::Psn(1))->record.psn, roce::Psn(1));
  ledger.take_where([](FlowHandle flow, const PendingFill&) { return flow == 7; }, take);
  EXPECT_EQ(taken.back(), 1U);
  EXPECT_TRUE(ledger.empty());
}

}  // namespace
}  // namespace weft::recovery
