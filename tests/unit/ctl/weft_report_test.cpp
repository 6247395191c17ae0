// What decode says of Weft packets, over the protocol's vectors.
#include "agent/ctl/weft_report.h"

#include <fstream>

#include <gtest/gtest.h>

namespace weft::ctl {
namespace {

using nlohmann::json;

const json& vectors() {
  static const json kVectors = json::parse(std::ifstream("tests/data/wire/vectors.json"));
  return kVectors;
}

Bytes bytes_of(const json& hex) { return from_hex(hex.get<std::string>()).value(); }

WeftAuthenticator with_key(const json& hex) {
  wire::Psk psk;
  std::ranges::copy(bytes_of(hex), psk.bytes.begin());
  WeftAuthenticator authenticator;
  authenticator.add_key(psk);
  return authenticator;
}

TEST(WeftReport, EveryVectorIsAuthenticWithItsKey) {
  WeftAuthenticator authenticator = with_key(vectors()["psk"]);
  for (const json& packet : vectors()["packets"]) {
    SCOPED_TRACE(packet["name"]);
    const WeftReport report = report_weft(bytes_of(packet["packet"]), true, authenticator);
    EXPECT_EQ(report.malformed, "");
    EXPECT_EQ(report.fields["type"], packet["type"].get<std::string>());
    EXPECT_EQ(report.fields["auth"], "ok");
  }
}

TEST(WeftReport, RepairSaysBlockAndSources) {
  WeftAuthenticator none;
  for (const json& packet : vectors()["packets"]) {
    if (packet["name"] != "repair with list only") continue;
    const WeftReport report = report_weft(bytes_of(packet["packet"]), true, none);
    const json& f = packet["fields"];
    for (const char* name :
         {"class", "level", "code", "first_ordinal", "interleave", "block", "k", "r", "index"})
      EXPECT_EQ(json(report.fields[name]), f[name]) << name;
    EXPECT_EQ(report.fields["sources"].size(), f["k"].get<std::size_t>());
    EXPECT_EQ(report.fields["auth"], "unchecked");
    const std::string text = text_of(report);
    EXPECT_TRUE(text.starts_with("repair")) << text;
    EXPECT_NE(text.find("block 7 k 8 r 1 index 0"), std::string::npos) << text;
  }
}

TEST(WeftReport, DamageAndOtherKeysAreBad) {
  WeftAuthenticator authenticator = with_key(vectors()["psk"]);
  WeftAuthenticator other = with_key(std::string(64, 'e'));
  for (const json& packet : vectors()["packets"]) {
    SCOPED_TRACE(packet["name"]);
    Bytes bytes = bytes_of(packet["packet"]);
    const bool is_hello = packet["type"] == "hello";
    EXPECT_EQ(report_weft(bytes, true, other).fields["auth"], is_hello ? "bad" : "unchecked");
    ASSERT_EQ(report_weft(bytes, true, authenticator).fields["auth"], "ok");
    bytes.back() ^= 1;
    EXPECT_EQ(report_weft(bytes, true, authenticator).fields["auth"], "bad");
  }
}

TEST(WeftReport, CutAndRefusedPackets) {
  WeftAuthenticator authenticator = with_key(vectors()["psk"]);
  const Bytes bytes = bytes_of(vectors()["packets"][8]["packet"]);
  const WeftReport cut = report_weft(ByteView(bytes).first(60), false, authenticator);
  EXPECT_EQ(cut.fields["type"], "repair");
  EXPECT_EQ(cut.fields["auth"], "unchecked");
  EXPECT_EQ(cut.malformed, "");
  const WeftReport broken = report_weft(ByteView(bytes).first(60), true, authenticator);
  EXPECT_EQ(broken.fields["type"], "repair");
  EXPECT_NE(broken.malformed, "");
  Bytes newer = bytes;
  newer[4] = 2;
  EXPECT_EQ(report_weft(newer, true, authenticator).malformed, "another protocol version");
}

}  // namespace
}  // namespace weft::ctl
