#include "agent/ctl/packet_report.h"

#include <gtest/gtest.h>

#include "agent/roce/builder.h"
#include "tests/support/exact_buffer.h"

namespace weft::ctl {
namespace {

using nlohmann::json;

// A WRITE LAST WITH IMMEDIATE in VLAN 7, 5 bytes of payload.
Bytes sample_frame() {
  roce::PacketPath path;
  path.vlans.count = 1;
  path.vlans.tags[0].tci = 0x6007;
  path.src = roce::IpAddress::parse("10.0.0.1").value();
  path.dst = roce::IpAddress::parse("10.0.0.2").value();
  path.tos = 0x6a;
  roce::PacketHeaders headers;
  headers.bth = {.opcode = roce::Opcode::kRcRdmaWriteLastWithImmediate,
                 .solicited_event = true,
                 .pkey = 0xfffe,
                 .becn = true,
                 .dest_qpn = 0x123456,
                 .ack_req = true,
                 .psn = roce::Psn(0xabcdef)};
  headers.imm = 0xdeadbeef;
  return roce::build_frame(path, headers, Bytes{1, 2, 3, 4, 5});
}

CapturedPacket captured(ByteView bytes, std::size_t wire_bytes, LinkType link = LinkType::kEthernet) {
  return {.number = 3,
          .time = Nanoseconds{1'700'000'000'123'456'789},
          .link = link,
          .bytes = bytes,
          .wire_bytes = wire_bytes};
}

// Without keys.
json json_of(const CapturedPacket& packet) {
  WeftAuthenticator authenticator;
  return json_report(packet, authenticator);
}
std::string text_of(const CapturedPacket& packet) {
  WeftAuthenticator authenticator;
  return text_report(packet, authenticator);
}

TEST(PacketReport, JsonNamesEveryField) {
  const Bytes frame = sample_frame();
  const json report = json_of(captured(frame, frame.size()));
  const json expected{{"n", 3},
                      {"t_ns", 1'700'000'000'123'456'789},
                      {"kind", "roce"},
                      {"op", "RC_RDMA_WRITE_LAST_WITH_IMMEDIATE"},
                      {"src", "10.0.0.1"},
                      {"dst", "10.0.0.2"},
                      {"src_port", 0xc000},
                      {"dscp", 26},
                      {"ecn", 2},
                      {"vlans", {7}},
                      {"dest_qpn", 0x123456},
                      {"psn", 0xabcdef},
                      {"pkey", 0xfffe},
                      {"se", true},
                      {"mig_req", false},
                      {"ack_req", true},
                      {"fecn", false},
                      {"becn", true},
                      {"pad", 3},
                      {"payload", 5},
                      {"imm", 0xdeadbeef},
                      {"icrc", "ok"},
                      {"icrc_hex", to_hex(ByteView(frame).last(4))}};
  EXPECT_EQ(report, expected);
}

TEST(PacketReport, JsonHoldsEveryExtendedHeader) {
  roce::PacketHeaders headers;
  headers.deth = {1, 2};
  headers.reth = {0xfedcba9876543210, 3, 4};
  headers.atomic_eth = {0x10, 5, 0x20, 0x30};
  headers.aeth = {0x60, 6};
  headers.atomic_ack_original = 0x40;
  headers.feth = 7;
  headers.imm = 8;
  headers.ieth_rkey = 9;
  const std::pair<roce::Extension, std::pair<const char*, json>> expected[] = {
      {roce::kExtDeth, {"deth", {{"qkey", 1}, {"source_qpn", 2}}}},
      {roce::kExtReth, {"reth", {{"va", "0xfedcba9876543210"}, {"rkey", 3}, {"len", 4}}}},
      {roce::kExtAtomicEth,
       {"atomic_eth", {{"va", "0x10"}, {"rkey", 5}, {"swap_or_add", "0x20"}, {"compare", "0x30"}}}},
      {roce::kExtAeth, {"aeth", {{"syndrome", 0x60}, {"msn", 6}}}},
      {roce::kExtAtomicAckEth, {"atomic_ack", {{"original", "0x40"}}}},
      {roce::kExtFeth, {"feth", 7}},
      {roce::kExtImm, {"imm", 8}},
      {roce::kExtIeth, {"ieth", {{"rkey", 9}}}},
  };
  for (const roce::OpcodeInfo& op : roce::opcode_table()) {
    headers.bth.opcode = op.opcode;
    const Bytes frame = roce::build_frame({}, headers, {});
    const json report = json_of(captured(frame, frame.size()));
    EXPECT_EQ(report["op"], op.name);
    for (const auto& [extension, field] : expected) {
      EXPECT_EQ(report.contains(field.first), op.has(extension)) << op.name << " " << field.first;
      if (!op.has(extension)) continue;
      EXPECT_EQ(report[field.first], field.second) << op.name;
    }
  }
}

TEST(PacketReport, TellsAWrongIcrcFromOneThatWasNotCaptured) {
  Bytes frame = sample_frame();
  const test::ExactBuffer cut(ByteView(frame).first(frame.size() - 1));
  json report = json_of(captured(cut.view(), frame.size()));
  EXPECT_EQ(report["icrc"], "unverifiable");
  EXPECT_FALSE(report.contains("icrc_hex"));
  EXPECT_EQ(report["payload"], 5);

  frame.back() ^= 1;
  report = json_of(captured(frame, frame.size()));
  EXPECT_EQ(report["icrc"], "bad");
  EXPECT_EQ(report["icrc_hex"], to_hex(ByteView(frame).last(4)));
}

TEST(PacketReport, SaysWhyAPacketIsNotRoce) {
  Bytes frame = sample_frame();
  json report = json_of(captured(ByteView(frame).first(40), frame.size()));
  EXPECT_EQ(report["kind"], "malformed");
  EXPECT_EQ(report["reason"], "ends inside the headers (captured 40 of 74 bytes)");
  frame[18 + 9] = 6;  // TCP
  report = json_of(captured(frame, frame.size()));
  EXPECT_EQ(report,
            json({{"n", 3}, {"t_ns", 1'700'000'000'123'456'789}, {"kind", "other"}, {"reason", "not UDP"}}));
}

TEST(PacketReport, OtherLinkHeadersGiveTheSamePacket) {
  const Bytes frame = sample_frame();
  const ByteView ip = ByteView(frame).subspan(18);
  const auto op_of = [&](LinkType link, std::size_t header_bytes, std::size_t protocol_at) {
    Bytes bytes(header_bytes + ip.size());
    if (header_bytes != 0) store_be16(&bytes[protocol_at], roce::kEtherTypeIpv4);
    std::copy(ip.begin(), ip.end(), bytes.begin() + static_cast<std::ptrdiff_t>(header_bytes));
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const test::ExactBuffer cut(ByteView(bytes).first(length));
      EXPECT_FALSE(parse_roce(captured(cut.view(), length, link)));
    }
    return json_of(captured(bytes, bytes.size(), link)).value("icrc", "none");
  };
  EXPECT_EQ(op_of(LinkType::kRawIp, 0, 0), "ok");
  EXPECT_EQ(op_of(LinkType::kLinuxCooked, 16, 14), "ok");
  EXPECT_EQ(op_of(LinkType::kLinuxCooked2, 20, 0), "ok");
  const Bytes arp(60, 0);
  EXPECT_EQ(json_of(captured(arp, 60, LinkType::kLinuxCooked))["kind"], "other");
}

TEST(PacketReport, TextFitsOneLine) {
  const Bytes frame = sample_frame();
  EXPECT_EQ(
      text_of(captured(frame, frame.size())),
      "3 22:13:20.123456 10.0.0.1 > 10.0.0.2 RC_RDMA_WRITE_LAST_WITH_IMMEDIATE qpn 0x123456 psn 11259375 "
      "payload 5 imm 0xdeadbeef se ackreq becn icrc ok");
  EXPECT_EQ(text_of(captured(ByteView(frame).first(40), 40)),
            "3 22:13:20.123456 malformed: ends inside the headers");
}

}  // namespace
}  // namespace weft::ctl
