// The parts of weft-wan that need no interface: room for frames, the loss log.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "agent/roce/icrc.h"
#include "netem/frame_store.h"
#include "netem/loss_log.h"

namespace weft::netem {
namespace {

TEST(FrameStore, SlotsDoNotOverlapAndAreFinite) {
  constexpr std::size_t kBytes = 1000;
  FrameStore store(kBytes, 3 << 20);
  std::vector<FrameStore::Slot> slots;
  while (const auto slot = store.acquire()) {
    ASSERT_LT(slots.size(), 10'000U);
    std::fill_n(store.data(*slot), store.slot_bytes(), static_cast<std::uint8_t>(*slot));
    slots.push_back(*slot);
  }
  EXPECT_GE(store.slot_bytes(), kBytes);
  EXPECT_GE(slots.size() * store.slot_bytes(), 2U << 20);
  EXPECT_LE(slots.size() * store.slot_bytes(), 3U << 20);
  EXPECT_EQ(std::set(slots.begin(), slots.end()).size(), slots.size());
  for (const FrameStore::Slot slot : slots) {
    EXPECT_EQ(store.data(slot)[0], static_cast<std::uint8_t>(slot));
    EXPECT_EQ(store.data(slot)[store.slot_bytes() - 1], static_cast<std::uint8_t>(slot));
  }
  store.release(slots[7]);
  EXPECT_EQ(store.acquire(), slots[7]);
}

class LossLogFile : public testing::Test {
 protected:
  LossLogFile() : path_(testing::TempDir() + "weft-losses-" + std::to_string(getpid()) + ".jsonl") {}
  ~LossLogFile() override { std::filesystem::remove(path_); }

  std::vector<nlohmann::json> lines() const {
    std::ifstream file(path_);
    std::vector<nlohmann::json> parsed;
    for (std::string line; std::getline(file, line);)
      parsed.push_back(nlohmann::json::parse(line));
    return parsed;
  }

  std::string path_;
};

Fate fate_of(Fate::Outcome outcome) {
  Fate fate;
  fate.outcome = outcome;
  return fate;
}

TEST_F(LossLogFile, NamesEveryLostPacketAndNoOther) {
  auto log = LossLog::create(path_);
  ASSERT_TRUE(log) << log.error().to_string();
  Classified source;
  source.kind = PacketKind::kRetransmit;
  source.source = Classified::Source{.flow = {},
                                     .psn = roce::Psn(0xfffffe),
                                     .icrc = roce::icrc_from_wire(Bytes{0xd3, 0x6b, 0x80, 0xc2}.data()),
                                     .op = "RC_RDMA_WRITE_MIDDLE"};
  source.source->flow.src = roce::IpAddress::parse("fd00:1::2").value();
  source.source->flow.dst = roce::IpAddress::parse("fd00:2::2").value();
  source.source->flow.dest_qpn = 17;
  Classified repair;
  repair.kind = PacketKind::kRepair;
  Fate corrupted;
  corrupted.corrupt_bit = 3;

  log->record(Nanoseconds{5}, Direction::kForward, source, 1084, fate_of(Fate::Outcome::kLost));
  log->record(Nanoseconds{6}, Direction::kForward, source, 1084, fate_of(Fate::Outcome::kDelivered));
  log->record(Nanoseconds{7}, Direction::kReverse, repair, 1200, fate_of(Fate::Outcome::kTailDropped));
  log->record(Nanoseconds{8}, Direction::kReverse, repair, 1200, corrupted);
  ASSERT_TRUE(log->finish());

  const auto written = lines();
  ASSERT_EQ(written.size(), 3U);
  EXPECT_EQ(written[0], nlohmann::json::parse(R"({
    "t_ns": 5, "direction": "forward", "cause": "loss", "kind": "retransmit", "ip_bytes": 1084,
    "op": "RC_RDMA_WRITE_MIDDLE", "psn": 16777214, "fingerprint": "d36b", "icrc": "d36b80c2",
    "flow": {"src": "fd00:1::2", "dst": "fd00:2::2", "dst_qpn": 17, "response": false}})"));
  EXPECT_EQ(written[1]["cause"], "queue");
  EXPECT_EQ(written[1]["kind"], "repair");
  EXPECT_EQ(written[1]["direction"], "reverse");
  EXPECT_TRUE(written[1]["psn"].is_null());
  EXPECT_EQ(written[2]["cause"], "corrupt");
}

TEST(LossLog, AFolderThatIsNotThereIsNamed) {
  const auto log = LossLog::create("/nonexistent/losses.jsonl");
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().where, "/nonexistent/losses.jsonl");
}

}  // namespace
}  // namespace weft::netem
