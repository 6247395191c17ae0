#include "agent/roce/opcode.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "agent/roce/headers.h"

namespace weft::roce {
namespace {

// The table of IBTA chapter 9.2 and the kernel's ib_pack.h written a second time, by wire value: the name and
// the bytes between BTH and payload.
struct Expected {
  std::string name;
  std::size_t extension_bytes;
  bool payload;
};

std::map<unsigned, Expected> expected_table() {
  std::map<unsigned, Expected> table{
      {0x0c, {"RC_RDMA_READ_REQUEST", 16, false}},
      {0x0d, {"RC_RDMA_READ_RESPONSE_FIRST", 4, true}},
      {0x0e, {"RC_RDMA_READ_RESPONSE_MIDDLE", 0, true}},
      {0x0f, {"RC_RDMA_READ_RESPONSE_LAST", 4, true}},
      {0x10, {"RC_RDMA_READ_RESPONSE_ONLY", 4, true}},
      {0x11, {"RC_ACKNOWLEDGE", 4, false}},
      {0x12, {"RC_ATOMIC_ACKNOWLEDGE", 12, false}},
      {0x13, {"RC_COMPARE_SWAP", 28, false}},
      {0x14, {"RC_FETCH_ADD", 28, false}},
      {0x16, {"RC_SEND_LAST_WITH_INVALIDATE", 4, true}},
      {0x17, {"RC_SEND_ONLY_WITH_INVALIDATE", 4, true}},
      {0x1c, {"RC_FLUSH", 20, false}},
      {0x1d, {"RC_ATOMIC_WRITE", 16, true}},
      {0x64, {"UD_SEND_ONLY", 8, true}},
      {0x65, {"UD_SEND_ONLY_WITH_IMMEDIATE", 12, true}},
      {0x81, {"CNP", 16, false}},
  };
  for (const auto& [base, prefix] : {std::pair{0x00U, "RC_"}, std::pair{0x20U, "UC_"}}) {
    const std::string transport = prefix;
    table[base + 0x00] = {transport + "SEND_FIRST", 0, true};
    table[base + 0x01] = {transport + "SEND_MIDDLE", 0, true};
    table[base + 0x02] = {transport + "SEND_LAST", 0, true};
    table[base + 0x03] = {transport + "SEND_LAST_WITH_IMMEDIATE", 4, true};
    table[base + 0x04] = {transport + "SEND_ONLY", 0, true};
    table[base + 0x05] = {transport + "SEND_ONLY_WITH_IMMEDIATE", 4, true};
    table[base + 0x06] = {transport + "RDMA_WRITE_FIRST", 16, true};
    table[base + 0x07] = {transport + "RDMA_WRITE_MIDDLE", 0, true};
    table[base + 0x08] = {transport + "RDMA_WRITE_LAST", 0, true};
    table[base + 0x09] = {transport + "RDMA_WRITE_LAST_WITH_IMMEDIATE", 4, true};
    table[base + 0x0a] = {transport + "RDMA_WRITE_ONLY", 16, true};
    table[base + 0x0b] = {transport + "RDMA_WRITE_ONLY_WITH_IMMEDIATE", 20, true};
  }
  return table;
}

TEST(OpcodeTable, HoldsEveryOpcodeOfTheStandardAndNoOther) {
  const auto expected = expected_table();
  for (unsigned value = 0; value < 256; ++value) {
    const OpcodeInfo* info = find_opcode(static_cast<std::uint8_t>(value));
    const auto wanted = expected.find(value);
    if (wanted == expected.end()) {
      EXPECT_EQ(info, nullptr) << "opcode " << value;
      continue;
    }
    ASSERT_NE(info, nullptr) << "opcode " << value;
    EXPECT_EQ(static_cast<unsigned>(info->opcode), value);
    EXPECT_EQ(info->name, wanted->second.name);
    EXPECT_EQ(info->extension_bytes, wanted->second.extension_bytes) << info->name;
    EXPECT_EQ(info->carries_payload, wanted->second.payload) << info->name;
  }
  EXPECT_EQ(opcode_table().size(), expected.size());
}

TEST(OpcodeTable, PositionTransportAndOperationFollowFromTheName) {
  for (const OpcodeInfo& info : opcode_table()) {
    const std::string name(info.name);
    const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
    EXPECT_EQ(info.position == Position::kFirst, has("_FIRST")) << name;
    EXPECT_EQ(info.position == Position::kMiddle, has("_MIDDLE")) << name;
    EXPECT_EQ(info.position == Position::kLast, has("_LAST")) << name;
    EXPECT_EQ(info.starts_message(), !has("_MIDDLE") && !has("_LAST")) << name;
    EXPECT_EQ(info.ends_message(), !has("_MIDDLE") && !has("_FIRST")) << name;
    EXPECT_EQ(info.transport == Transport::kRc, name.starts_with("RC_")) << name;
    EXPECT_EQ(info.transport == Transport::kUc, name.starts_with("UC_")) << name;
    EXPECT_EQ(info.transport == Transport::kUd, name.starts_with("UD_")) << name;
    EXPECT_EQ(info.operation == Operation::kSend, has("_SEND_")) << name;
    EXPECT_EQ(info.operation == Operation::kWrite, has("_RDMA_WRITE_")) << name;
    EXPECT_EQ(info.is_response(), has("RESPONSE") || has("ACKNOWLEDGE")) << name;
    EXPECT_EQ(info.has(kExtImm), has("IMMEDIATE")) << name;
    EXPECT_EQ(info.has(kExtIeth), has("INVALIDATE")) << name;
  }
}

TEST(OpcodeTable, SixOpcodesAreRcWrites) {
  std::size_t writes = 0;
  for (const OpcodeInfo& info : opcode_table())
    writes += info.is_rc_write() ? 1 : 0;
  EXPECT_EQ(writes, 6U);
}

TEST(Headers, PadAndPacketCounts) {
  EXPECT_EQ(pad_for(0), 0);
  EXPECT_EQ(pad_for(1), 3);
  EXPECT_EQ(pad_for(2), 2);
  EXPECT_EQ(pad_for(3), 1);
  EXPECT_EQ(pad_for(4096), 0);
  EXPECT_EQ(packets_for(0, 1024), 1U);
  EXPECT_EQ(packets_for(1, 1024), 1U);
  EXPECT_EQ(packets_for(1024, 1024), 1U);
  EXPECT_EQ(packets_for(1025, 1024), 2U);
  EXPECT_EQ(packets_for(0xffffffff, 256), 1U << 24);
  for (const std::uint32_t pmtu : {256U, 512U, 1024U, 2048U, 4096U})
    EXPECT_TRUE(is_pmtu(pmtu));
  EXPECT_FALSE(is_pmtu(1500));
}

TEST(Headers, SyndromesAreOneKindEach) {
  EXPECT_TRUE(is_ack(0x00));
  EXPECT_TRUE(is_ack(kAckUnlimitedCredits));
  EXPECT_TRUE(is_rnr_nak(0x20));
  EXPECT_TRUE(is_rnr_nak(0x3f));
  EXPECT_TRUE(is_nak(kNakPsnSequenceError));
  EXPECT_TRUE(is_nak(kNakRemoteOperational));
  for (unsigned syndrome = 0; syndrome < 256; ++syndrome) {
    const auto s = static_cast<std::uint8_t>(syndrome);
    const int kinds = (is_ack(s) ? 1 : 0) + (is_rnr_nak(s) ? 1 : 0) + (is_nak(s) ? 1 : 0);
    EXPECT_EQ(kinds, syndrome < 0x40 || (syndrome >= 0x60 && syndrome < 0x80) ? 1 : 0) << syndrome;
  }
}

}  // namespace
}  // namespace weft::roce
