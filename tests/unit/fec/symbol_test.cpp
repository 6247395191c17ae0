#include "agent/fec/symbol.h"

#include <gtest/gtest.h>

#include "agent/roce/icrc.h"
#include "agent/roce/view.h"
#include "tests/support/random_packet.h"
#include "tests/support/seed.h"

namespace weft::fec {
namespace {

Bytes joined(const SymbolPieces& pieces) {
  Bytes all(pieces[0].begin(), pieces[0].end());
  all.insert(all.end(), pieces[1].begin(), pieces[1].end());
  return all;
}

TEST(SourceSymbol, IsTheCanonicalPacketBehindItsLength) {
  Rng rng = weft::test::rng(21);
  for (int round = 0; round < 2000; ++round) {
    const Bytes frame = weft::test::random_packet(rng, 1500).frame();
    const auto view = roce::PacketView::parse(frame);
    ASSERT_TRUE(view);
    const Bytes before = frame;
    const ByteView ip_packet = view->ip_packet();
    const SourceSymbol symbol(view->ipv6(), ip_packet);
    EXPECT_EQ(frame, before);

    Bytes canonical(ip_packet.begin(), ip_packet.end());
    roce::set_exempt_fields(view->ipv6(), canonical, 0);
    Bytes padded = joined(symbol.pieces());
    ASSERT_EQ(padded.size(), symbol.bytes());
    padded.resize(padded.size() + rng.below(50));
    const auto packet = packet_in_symbol(padded);
    ASSERT_TRUE(packet);
    EXPECT_EQ(Bytes(packet->begin(), packet->end()), canonical);
  }
}

TEST(PacketInSymbol, RefusesALengthThatCannotBe) {
  EXPECT_FALSE(packet_in_symbol({}));
  EXPECT_FALSE(packet_in_symbol(Bytes{0}));
  EXPECT_FALSE(packet_in_symbol(Bytes{0, 0, 7}));
  EXPECT_FALSE(packet_in_symbol(Bytes{0, 3, 1, 2}));
  EXPECT_TRUE(packet_in_symbol(Bytes{0, 2, 1, 2}));
}

}  // namespace
}  // namespace weft::fec
