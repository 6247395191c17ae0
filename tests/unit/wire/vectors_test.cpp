// The vectors of the protocol (tests/data/wire/vectors.json): fields to bytes, bytes to fields, keys and tags.
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "agent/fec/block_encoder.h"
#include "agent/fec/symbol.h"
#include "agent/wire/format.h"
#include "agent/wire/packet_key.h"
#include "agent/wire/repair_list.h"
#include "tests/support/message_json.h"
#include "tests/support/random_message.h"

namespace weft::wire {
namespace {

using nlohmann::json;
using test::bytes_of;

const json& vectors() {
  static const json kVectors = json::parse(std::ifstream("tests/data/wire/vectors.json"));
  return kVectors;
}

PacketType type_of(const json& packet) {
  for (int type = 1; type <= 6; ++type) {
    if (describe(static_cast<PacketType>(type)) == packet["type"].get<std::string>()) {
      return static_cast<PacketType>(type);
    }
  }
  ADD_FAILURE() << packet["type"];
  return PacketType::kHello;
}

BootId boot_id(const json& side) { return test::boot_id_of(vectors()["boot_ids"][side.get<std::string>()]); }

PacketKey key_of(const json& packet) {
  Psk psk;
  std::ranges::copy(bytes_of(vectors()["psk"]), psk.bytes.begin());
  const BootId sender = boot_id(packet["sender"]);
  if (type_of(packet) == PacketType::kHello) return PacketKey::for_hello(psk, sender);
  return PacketKey::for_data(psk, sender, boot_id(packet["sender"] == "a" ? "b" : "a"));
}

Header header_of(const json& packet) {
  return {.type = type_of(packet),
          .lane = packet["lane"],
          .lane_count = packet["lane_count"],
          .boot_id_prefix = load_be64(boot_id(packet["sender"]).data()),
          .counter = packet["counter"]};
}

TEST(WireVectors, FieldsToBytes) {
  for (const json& packet : vectors()["packets"]) {
    SCOPED_TRACE(packet["name"]);
    EXPECT_EQ(to_hex(test::encode_fields(type_of(packet), packet)), packet["body"].get<std::string>());
  }
}

TEST(WireVectors, BytesToFields) {
  for (const json& packet : vectors()["packets"]) {
    SCOPED_TRACE(packet["name"]);
    const auto fields = test::decode_fields(type_of(packet), bytes_of(packet["body"]));
    ASSERT_TRUE(fields) << fields.error().to_string();
    json expected = packet["fields"];
    if (packet["type"] == "repair") {
      expected["list"] = packet.contains("sources") ? packet["sources"] : json(nullptr);
    }
    EXPECT_EQ(*fields, expected);
  }
}

TEST(WireVectors, HeadersKeysAndTags) {
  for (const json& packet : vectors()["packets"]) {
    SCOPED_TRACE(packet["name"]);
    const Bytes expected = bytes_of(packet["packet"]);
    const Header header = header_of(packet);
    EXPECT_EQ(parse_header(expected).value(), header);
    EXPECT_TRUE(key_of(packet).verify(header.lane, header.counter, expected));

    Bytes made(expected.size());
    write_header(header, made);
    std::ranges::copy(bytes_of(packet["body"]), made.begin() + kHeaderBytes);
    EXPECT_TRUE(key_of(packet).seal(header.lane, header.counter, made));
    EXPECT_EQ(to_hex(made), packet["packet"].get<std::string>());
  }
}

TEST(WireVectors, RefusedBodies) {
  for (const json& refused : vectors()["refused"]) {
    const auto fields = test::decode_fields(type_of(refused), bytes_of(refused["body"]));
    EXPECT_FALSE(fields) << refused["type"] << ": " << refused["why"];
  }
}

TEST(WireVectors, SymbolsAndRepairs) {
  for (const char* name : {"block", "xor_block"}) {
    SCOPED_TRACE(name);
    const json& block = vectors()[name];
    const unsigned rows = block["rows"];
    fec::BlockEncoder encoder;
    encoder.open(block["code"] == "rs" ? CodeKind::kReedSolomon : CodeKind::kXor, rows, kMaxSymbolBytes);
    for (std::size_t i = 0; i < block["packets"].size(); ++i) {
      const Bytes packet = bytes_of(block["packets"][i]);
      const fec::SourceSymbol symbol((packet[0] >> 4) == 6, packet);
      Bytes whole;
      for (const ByteView piece : symbol.pieces())
        whole.insert(whole.end(), piece.begin(), piece.end());
      EXPECT_EQ(to_hex(whole), block["symbols"][i].get<std::string>());
      ASSERT_TRUE(encoder.add(symbol.pieces()));
    }
    for (unsigned row = 0; row < rows; ++row)
      EXPECT_EQ(to_hex(encoder.repair(row)), block["repairs"][row].get<std::string>());
  }
  for (const json& entry : vectors()["coefficients"]) {
    EXPECT_EQ(fec::coefficient(CodeKind::kReedSolomon, entry["row"], entry["column"], fec::kMaxRows),
              entry["value"].get<unsigned>());
  }
}

}  // namespace
}  // namespace weft::wire
