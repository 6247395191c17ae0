#include "agent/recovery/rebuild.h"

#include <gtest/gtest.h>

#include "agent/fec/symbol.h"
#include "agent/roce/builder.h"
#include "testbed/sim/frame_pool.h"
#include "tests/support/site_addresses.h"

namespace weft::recovery {
namespace {

roce::PacketPath path(bool ipv6, std::uint8_t tos) {
  roce::PacketPath path = test::path_from_a_to_b(ipv6);
  path.src_mac = {2, 0, 0, 0, 0, 1};
  path.dst_mac = {2, 0, 0, 0, 0, 2};
  path.vlans.count = 1;
  path.vlans.tags[0] = {roce::kEtherTypeVlan, 0xa064};
  path.tos = tos;
  path.ttl = 61;
  path.flow_label = ipv6 ? 0xabcde : 0;
  return path;
}

Bytes packet(const roce::PacketPath& path, std::uint32_t psn) {
  roce::PacketHeaders headers;
  headers.bth.opcode = roce::Opcode::kRcRdmaWriteMiddle;
  headers.bth.psn = roce::Psn(psn);
  return roce::build_frame(path, headers, Bytes(256, static_cast<std::uint8_t>(psn)));
}

class RebuildTest : public testing::TestWithParam<bool> {
 protected:
  // Loses the packet that was sent with `sent_tos` and rebuilds it behind one that arrived with `seen_tos`.
  Bytes rebuilt(std::uint8_t sent_tos, std::uint8_t seen_tos, bool ce_seen) {
    const Bytes lost = packet(path(GetParam(), sent_tos), 7);
    const Bytes seen = packet(path(GetParam(), seen_tos), 8);
    const auto lost_view = roce::PacketView::parse(lost);
    const fec::SourceSymbol symbol(lost_view->ipv6(), lost_view->ip_packet());
    Bytes canonical;
    for (const ByteView piece : symbol.pieces())
      canonical.insert(canonical.end(), piece.begin(), piece.end());
    const auto frame = rebuild_frame(pool_, PathHeaders(seen, *roce::PacketView::parse(seen)),
                                     *fec::packet_in_symbol(canonical), ce_seen);
    EXPECT_TRUE(frame);
    const ByteView bytes = pool_.bytes(*frame);
    Bytes copy(bytes.begin(), bytes.end());
    pool_.release(*frame);
    return copy;
  }
  sim::FramePool pool_;
};

TEST_P(RebuildTest, IsThePacketThatWasSent) {
  EXPECT_EQ(rebuilt(0x2a, 0x2a, false), packet(path(GetParam(), 0x2a), 7));
}

TEST_P(RebuildTest, AMarkOnAnotherPacketIsNotItsOwn) {
  EXPECT_EQ(rebuilt(0x2a, 0x2b, false), packet(path(GetParam(), 0x2a), 7));
}

TEST_P(RebuildTest, AMarkTheBlockSawReachesTheReceiver) {
  EXPECT_EQ(rebuilt(0x2a, 0x2a, true), packet(path(GetParam(), 0x2b), 7));
}

TEST_P(RebuildTest, WithoutEcnThereIsNoMark) {
  EXPECT_EQ(rebuilt(0x28, 0x28, true), packet(path(GetParam(), 0x28), 7));
}

INSTANTIATE_TEST_SUITE_P(BothFamilies, RebuildTest, testing::Bool());

}  // namespace
}  // namespace weft::recovery
