// Repair packets, and the list that names their source packets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/wire/repair_list.h"
#include "tests/support/exact_buffer.h"
#include "tests/support/random_message.h"
#include "tests/support/seed.h"

namespace weft::wire {
namespace {

using roce::Psn;
using test::encoded;

constexpr std::size_t kAmple = 1400;

Repair::Source source(FlowId flow, std::uint32_t psn, std::uint16_t fingerprint = 0) {
  return {.flow = flow, .psn = Psn(psn), .fingerprint = fingerprint};
}

void expect_equal(const Repair& a, const Repair& b) {
  EXPECT_EQ(a.stream, b.stream);
  EXPECT_EQ(a.first_ordinal, b.first_ordinal);
  EXPECT_EQ(a.interleave, b.interleave);
  EXPECT_EQ(a.block, b.block);
  EXPECT_EQ(a.code, b.code);
  EXPECT_EQ(a.k, b.k);
  EXPECT_EQ(a.r, b.r);
  EXPECT_EQ(a.index, b.index);
  EXPECT_EQ(a.ce_seen, b.ce_seen);
  EXPECT_EQ(a.symbol_bytes, b.symbol_bytes);
  EXPECT_EQ(a.sources, b.sources);
  EXPECT_TRUE(std::ranges::equal(a.symbol, b.symbol));
}

TEST(RepairList, OneFlowOverInterleavedBlocksIsOneEntry) {
  RepairListBuilder list(kAmple);
  for (std::uint32_t i = 0; i < 32; ++i)
    EXPECT_TRUE(list.add(source(7, 100 + 8 * i)));
  EXPECT_EQ(list.entry_count(), 1U);
  EXPECT_EQ(list.encoded_bytes(), kListEntryBytes + 32 * kListSymbolBytes);
}

TEST(RepairList, AFinerStrideIsFoundLater) {
  RepairListBuilder list(kAmple);
  for (const std::uint32_t psn : {0U, 8U, 12U, 22U})
    EXPECT_TRUE(list.add(source(7, psn)));
  EXPECT_EQ(list.entry_count(), 1U);
  Bytes bytes(list.encoded_bytes());
  list.encode(bytes);
  EXPECT_EQ(to_hex(bytes),
            "0007"
            "000000"
            "02"
            "000000"
            "040000"
            "020000"
            "050000");
}

TEST(RepairList, AStepThatCannotBeExpressedStartsANewEntry) {
  RepairListBuilder list(kAmple);
  EXPECT_TRUE(list.add(source(7, 100)));
  EXPECT_TRUE(list.add(source(7, 101)));
  EXPECT_TRUE(list.add(source(7, 116)));
  EXPECT_EQ(list.entry_count(), 1U);
  EXPECT_TRUE(list.add(source(7, 132)));  // 16 strides of 1
  EXPECT_EQ(list.entry_count(), 2U);
  EXPECT_TRUE(list.add(source(7, 100)));  // resent: backwards
  EXPECT_EQ(list.entry_count(), 3U);
  EXPECT_TRUE(list.add(source(7, 133)));  // the newest entry that reaches it
  EXPECT_EQ(list.entry_count(), 3U);
  EXPECT_TRUE(list.add(source(7, 133)));  // the same PSN again, with another fingerprint
  EXPECT_EQ(list.entry_count(), 3U);
}

TEST(RepairList, LongStepsAndPsnWrap) {
  RepairListBuilder list(kAmple);
  EXPECT_TRUE(list.add(source(7, 0xfffff0)));
  EXPECT_TRUE(list.add(source(7, 0xfffff0 + 510)));        // stride 255, two steps
  EXPECT_TRUE(list.add(source(7, 0xfffff0 + 510 + 340)));  // stride 170
  EXPECT_EQ(list.entry_count(), 1U);
  EXPECT_TRUE(list.add(source(8, 0)));
  EXPECT_TRUE(list.add(source(8, 509)));  // a prime above 255: no stride reaches it
  EXPECT_EQ(list.entry_count(), 3U);
}

TEST(RepairList, SaysWhenItIsFull) {
  RepairListBuilder entries(kAmple);
  for (FlowId flow = 0; flow < kMaxListEntries; ++flow)
    EXPECT_TRUE(entries.add(source(flow, 5)));
  EXPECT_FALSE(entries.add(source(100, 5)));
  EXPECT_TRUE(entries.add(source(3, 6))) << "a listed flow still fits";

  RepairListBuilder bytes(kListEntryBytes + 2 * kListSymbolBytes);
  EXPECT_TRUE(bytes.add(source(1, 5)));
  EXPECT_TRUE(bytes.add(source(1, 6)));
  EXPECT_FALSE(bytes.add(source(1, 7)));
  EXPECT_EQ(bytes.encoded_bytes(), kListEntryBytes + 2 * kListSymbolBytes);
  bytes.clear();
  EXPECT_EQ(bytes.encoded_bytes(), 0U);
  EXPECT_TRUE(bytes.add(source(1, 7)));

  RepairListBuilder symbols(kAmple);
  for (std::uint32_t i = 0; i < fec::kMaxColumns; ++i)
    EXPECT_TRUE(symbols.add(source(1, i)));
  EXPECT_FALSE(symbols.add(source(1, fec::kMaxColumns)));
}

TEST(Repair, RoundTripInOnePacketOrTwo) {
  Rng rng = test::rng(1);
  for (int i = 0; i < 1000; ++i) {
    Bytes symbol;
    const Repair repair = test::random_repair(rng, symbol);
    const auto whole = decode_repair(test::ExactBuffer(encoded(repair)).view());
    ASSERT_TRUE(whole) << whole.error().to_string();

    const Bytes bytes = encoded(repair);
    expect_equal(decode_repair(bytes).value(), repair);
    Repair list_only = repair;
    list_only.symbol = {};
    expect_equal(decode_repair(encoded(list_only)).value(), list_only);
    Repair symbol_only = repair;
    symbol_only.sources.clear();
    const Bytes symbol_bytes = encoded(symbol_only);
    expect_equal(decode_repair(symbol_bytes).value(), symbol_only);
  }
}

TEST(Repair, OnlyTheWholeBodyIsAccepted) {
  Rng rng = test::rng(2);
  for (int i = 0; i < 10; ++i) {
    Bytes symbol;
    Bytes bytes = encoded(test::random_repair(rng, symbol));
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const test::ExactBuffer cut(ByteView(bytes).first(length));
      EXPECT_FALSE(decode_repair(cut.view()));
    }
    bytes.push_back(0);
    EXPECT_FALSE(decode_repair(bytes));
  }
}

TEST(Repair, DamagedBodiesAreReadSafelyAndMeanOneThing) {
  Rng rng = test::rng(3);
  for (int i = 0; i < 5000; ++i) {
    Bytes symbol;
    Bytes bytes = encoded(test::random_repair(rng, symbol));
    const std::size_t interesting = std::min<std::size_t>(bytes.size(), 120);
    bytes[rng.below(interesting)] ^= static_cast<std::uint8_t>(1U << rng.below(8));
    const test::ExactBuffer damaged(bytes);
    const auto decoded = decode_repair(damaged.view());
    if (!decoded) continue;
    ASSERT_LE(decoded->k, fec::kMaxColumns);
    ASSERT_LT(decoded->index, decoded->r);
    ASSERT_TRUE(decoded->sources.empty() || decoded->sources.size() == decoded->k);
  }
}

struct Refused {
  const char* name;
  std::size_t offset;
  std::uint8_t value;
  const char* reason;
};

TEST(Repair, Refusals) {
  Repair repair;
  repair.interleave = 4;
  repair.block = 3;
  repair.k = 2;
  repair.r = 3;
  repair.index = 2;
  repair.sources = {source(1, 10), source(1, 14)};
  repair.symbol_bytes = 5;
  const Bytes symbol = {1, 2, 3, 4, 5};
  repair.symbol = symbol;
  const Bytes valid = encoded(repair);
  ASSERT_TRUE(decode_repair(valid));

  const Refused table[] = {
      {"reserved bit of the stream", 0, 0x08, "reserved"},
      {"reserved flag", 1, 0xe1, "reserved"},
      {"code 0", 1, 0x60, "code"},
      {"code 3", 1, 0x63, "code"},
      {"no list flag but entries", 1, 0x41, "entries"},
      {"neither list nor symbol", 1, 0x01, "neither"},
      {"interleave 0", 2, 0, "interleave"},
      {"block = interleave", 3, 4, "interleave"},
      {"k 0", 4, 0, "k is 0"},
      {"k above the code's", 4, 225, "k is 0 or exceeds"},
      {"k above the list", 4, 9, "end before"},
      {"r 0", 5, 0, "r is 0"},
      {"r above the code's", 5, 33, "r is 0 or exceeds"},
      {"index = r", 6, 3, "index"},
      {"no entries", 7, 0, "entries"},
      {"17 entries", 7, 17, "entries"},
      {"symbol size above 9216", 12, 0x25, "9216"},
      {"symbol size 0", 13, 0, "symbol size"},
      {"entry not there", 20, 0x10, "not there"},
      {"first symbol with a step", 20, 0x01, "has a step"},
  };
  for (const Refused& refused : table) {
    SCOPED_TRACE(refused.name);
    Bytes bytes = valid;
    ASSERT_NE(bytes[refused.offset], refused.value);
    bytes[refused.offset] = refused.value;
    const auto decoded = decode_repair(bytes);
    ASSERT_FALSE(decoded);
    EXPECT_THAT(decoded.error().what, testing::HasSubstr(refused.reason));
  }
}

TEST(Repair, AnEntryWithoutSymbolsIsRefused) {
  // Two entries, one symbol, of the first.
  const Bytes bytes = from_hex(
                          "00"
                          "21"
                          "01"
                          "00"
                          "01"
                          "01"
                          "00"
                          "02"
                          "00000000"
                          "0001"
                          "000100000001"
                          "000200000001"
                          "000000")
                          .value();
  const auto decoded = decode_repair(bytes);
  ASSERT_FALSE(decoded);
  EXPECT_THAT(decoded.error().what, testing::HasSubstr("no symbol"));
}

TEST(Repair, LargestBodyFollowsFromTheMtu) {
  EXPECT_EQ(max_body_bytes(1500, false), 1500U - 20 - 8 - 40);
  EXPECT_EQ(max_body_bytes(1500, true), 1500U - 40 - 8 - 40);
  EXPECT_EQ(max_body_bytes(60, false), 0U);
}

}  // namespace
}  // namespace weft::wire
