// Arbitrary bytes as the payload of a datagram to the Weft port: header and bodies are read without reading beyond
// them, what is accepted encodes to the same bytes again, and a session believes none of it.
// Input: the payload, tag included. Every decoder also gets the whole input as a body, whatever its header says.
#include <cstdint>
#include <cstdlib>

#include "agent/wire/format.h"
#include "agent/wire/messages.h"
#include "agent/wire/peer_session.h"
#include "agent/wire/repair_list.h"

namespace {

using namespace weft;
using namespace weft::wire;

void require(bool holds) {
  if (!holds) std::abort();
}

template <class Body>
void check(const Result<Body>& decoded, ByteView bytes) {
  if (!decoded) {
    require(!decoded.error().what.empty());
    return;
  }
  require(body_bytes(*decoded) == bytes.size());
  Bytes again(bytes.size());
  require(encode(*decoded, again) == bytes.size());
  require(std::ranges::equal(again, bytes));
}

// A list has many encodings; the sender's of the same sources, where there is one, names the same.
void check_repair(ByteView bytes) {
  const auto decoded = decode_repair(bytes);
  if (!decoded) return;
  const Repair& repair = *decoded;
  require(repair.k >= 1 && repair.k <= fec::kMaxColumns && repair.r >= 1 && repair.r <= fec::kMaxRows);
  require(repair.index < repair.r && repair.block < repair.interleave);
  require(repair.sources.empty() || repair.sources.size() == repair.k);
  require(repair.symbol.empty() || repair.symbol.size() == repair.symbol_bytes);
  require(!repair.sources.empty() || !repair.symbol.empty());
  RepairListBuilder list(kMaxSymbolBytes);
  for (const Repair::Source& source : repair.sources) {
    if (!list.add(source)) return;
  }
  Bytes again(repair_body_bytes(list.encoded_bytes(), repair.symbol.size()));
  require(encode(repair, repair.sources.empty() ? nullptr : &list, again) == again.size());
  const auto twice = decode_repair(again);
  require(twice && twice->sources == repair.sources && std::ranges::equal(twice->symbol, repair.symbol));
}

void check_bodies(ByteView bytes) {
  check(decode_hello(bytes), bytes);
  check(decode_feedback(bytes), bytes);
  check(decode_announcement(bytes), bytes);
  check(decode_manifest(bytes), bytes);
  check(decode_ack_copy(bytes), bytes);
  check_repair(bytes);
}

void check_packet(ByteView payload) {
  const auto header = parse_header(payload);
  if (!header) return;
  Bytes again(kHeaderBytes);
  write_header(*header, again);
  require(std::ranges::equal(again, payload.first(kHeaderBytes)));
  check_bodies(payload.subspan(kHeaderBytes, payload.size() - kEnvelopeBytes));
}

// Without the key there is no tag that fits.
void check_session(ByteView payload) {
  static PeerSession session({.psk = Psk({0x5e, 0xc2, 0xe7}), .own_boot_id = {1, 2, 3}});
  static Nanoseconds now = std::chrono::seconds(1);
  now += std::chrono::milliseconds(5);
  require(!session.open(payload, now));
  require(!session.ready() && !session.next_event());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView input(data, size);
  check_packet(input);
  check_bodies(input);
  check_session(input);
  return 0;
}
