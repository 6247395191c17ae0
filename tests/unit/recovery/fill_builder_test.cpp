// A filled packet against the one the sender's endpoint would have built.
#include "agent/recovery/fill_builder.h"

#include <gtest/gtest.h>

#include "testbed/sim/frame_pool.h"
#include "tests/support/site_addresses.h"

namespace weft::recovery {
namespace {

using roce::Opcode;
using roce::Psn;

constexpr std::uint32_t kPmtu = 1024;
constexpr std::uint32_t kQpn = 0x1234;

struct Case {
  const char* name;
  std::uint32_t message_bytes;
  std::uint32_t packet_index;
  bool imm;
  Opcode opcode;
};

class FillBuilder : public testing::TestWithParam<std::tuple<Case, bool>> {};

TEST_P(FillBuilder, WritesTheSendersHeadersAndZeros) {
  const auto& [wanted, ipv6] = GetParam();
  roce::PacketPath path = test::path_from_a_to_b(ipv6);
  path.src_mac = {2, 0, 0, 0, 0, 1};
  path.dst_mac = {2, 0, 0, 0, 0, 2};
  path.vlans.count = 2;
  path.vlans.tags = {{{roce::kEtherTypeVlanAd, 0x2005}, {roce::kEtherTypeVlan, 0xa064}}};
  path.tos = 0x2a;
  path.ttl = 61;
  path.flow_label = ipv6 ? 0xabcde : 0;
  path.udp_source_port = 0xc123;

  const LoggedMessage message{
      .descriptor = {.flow = 1,
                     .first_psn = Psn(0xfffffe),
                     .pmtu_bytes = kPmtu,
                     .reth = {.va = 0x1122334455667788, .rkey = 0xcafe, .length_bytes = wanted.message_bytes},
                     .pkey = 0x8001,
                     .mig_req = true,
                     .end = wire::MessageEnd{.solicited_event = true,
                                             .imm = wanted.imm ? std::optional<std::uint32_t>(0x01020304)
                                                               : std::nullopt}},
      .fill = {}};
  const Psn psn = message.descriptor.first_psn + wanted.packet_index;
  const bool last = message.is_last(psn);

  roce::PacketHeaders headers;
  headers.bth = {.opcode = wanted.opcode,
                 .solicited_event = last,
                 .mig_req = true,
                 .pad_bytes = 0,
                 .pkey = 0x8001,
                 .fecn = false,
                 .becn = false,
                 .dest_qpn = kQpn,
                 .ack_req = true,
                 .psn = psn};
  headers.reth = message.descriptor.reth;
  headers.imm = 0x01020304;
  const std::uint32_t payload_bytes = last ? wanted.message_bytes - wanted.packet_index * kPmtu : kPmtu;
  const Bytes expected = roce::build_frame(path, headers, Bytes(payload_bytes));

  // The newest packet of the flow was marked on its way and had an identification of its own.
  roce::PacketPath seen_path = path;
  seen_path.tos |= 3;
  seen_path.ip_id = ipv6 ? 0 : 77;
  roce::PacketHeaders seen_headers;
  seen_headers.bth.opcode = Opcode::kRcRdmaWriteMiddle;
  const Bytes seen = roce::build_frame(seen_path, seen_headers, Bytes(kPmtu, 1));

  sim::FramePool pool;
  const auto frame =
      build_filled_frame(pool, PathHeaders(seen, *roce::PacketView::parse(seen)), message, kQpn, psn);
  ASSERT_TRUE(frame);
  const ByteView bytes = pool.bytes(*frame);
  EXPECT_EQ(Bytes(bytes.begin(), bytes.end()), expected);
  EXPECT_TRUE(roce::PacketView::parse(bytes)->icrc_ok());
  pool.release(*frame);
}

INSTANTIATE_TEST_SUITE_P(
    SixOpcodes, FillBuilder,
    testing::Combine(testing::Values(Case{"only", 1021, 0, false, Opcode::kRcRdmaWriteOnly},
                                     Case{"only_imm", 1, 0, true, Opcode::kRcRdmaWriteOnlyWithImmediate},
                                     Case{"first", 3 * kPmtu, 0, true, Opcode::kRcRdmaWriteFirst},
                                     Case{"middle", 3 * kPmtu, 1, true, Opcode::kRcRdmaWriteMiddle},
                                     Case{"last", 2 * kPmtu + 6, 2, false, Opcode::kRcRdmaWriteLast},
                                     Case{"last_imm", 3 * kPmtu, 2, true,
                                          Opcode::kRcRdmaWriteLastWithImmediate}),
                     testing::Bool()),
    [](const auto& param) {
      return std::string(std::get<0>(param.param).name) + (std::get<1>(param.param) ? "_ipv6" : "_ipv4");
    });

}  // namespace
}  // namespace weft::recovery
