// Arbitrary bytes as a frame: whatever the view says of them, it reads only what is there and its answers agree.
// Input: two bytes by which the frame was longer on the wire, then the frame.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "agent/roce/icrc.h"
#include "agent/roce/view.h"

namespace {

using weft::ByteView;
using weft::roce::PacketView;

void require(bool holds) {
  if (!holds) std::abort();
}

// Each extended header is there exactly when the opcode has it.
void check_extensions(const PacketView& view) {
  const weft::roce::OpcodeInfo& op = view.op();
  require(view.deth().has_value() == op.has(weft::roce::kExtDeth));
  require(view.feth().has_value() == op.has(weft::roce::kExtFeth));
  require(view.reth().has_value() == op.has(weft::roce::kExtReth));
  require(view.atomic_eth().has_value() == op.has(weft::roce::kExtAtomicEth));
  require(view.aeth().has_value() == op.has(weft::roce::kExtAeth));
  require(view.atomic_ack_original().has_value() == op.has(weft::roce::kExtAtomicAckEth));
  require(view.imm().has_value() == op.has(weft::roce::kExtImm));
  require(view.ieth_rkey().has_value() == op.has(weft::roce::kExtIeth));
}

void check_lengths(const PacketView& view, std::size_t captured_bytes, std::size_t wire_bytes) {
  require(view.frame_bytes() <= std::max(captured_bytes, wire_bytes));
  require(view.complete() == (view.frame_bytes() <= captured_bytes));
  require(view.l3_offset() + view.ip_packet_bytes() == view.frame_bytes());
  require(view.payload_offset() + view.payload_bytes() + view.pad_bytes() == view.icrc_offset());
  require(view.payload().size() <= view.payload_bytes());
  require(view.ip_packet().size() <= view.ip_packet_bytes());
  require(view.op().carries_payload || view.payload_bytes() == 0);
}

// The ICRC in two pieces is the ICRC in one; a valid packet from its IP header on is the same packet.
void check_complete(const PacketView& view) {
  const ByteView covered = view.ip_packet().first(view.ip_packet_bytes() - weft::roce::kIcrcBytes);
  const std::size_t headers = view.bth_offset() + weft::roce::kBthBytes - view.l3_offset();
  weft::roce::Icrc pieces(view.ipv6(), covered.first(headers));
  pieces.update(covered.subspan(headers));
  require(pieces.value() == view.icrc_expected());
  require(view.icrc_ok() == (view.icrc_found() == view.icrc_expected()));

  const auto from_ip = PacketView::parse_ip(view.ip_packet());
  require(from_ip.has_value());
  require(from_ip->fingerprint() == view.fingerprint());
  require(from_ip->psn() == view.psn());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const ByteView frame(data + 2, size - 2);
  const std::size_t wire_bytes = frame.size() + weft::load_be16(data);
  static_cast<void>(PacketView::parse_ip(frame));
  const auto view = PacketView::parse(frame, wire_bytes);
  if (!view) {
    require(!weft::roce::describe(view.error()).empty());
    return 0;
  }
  require(view->bth().psn == view->psn());
  require(view->flow_key() == view->flow_key());
  require(view->flow_key().vlan_count == view->vlans().count);
  check_extensions(*view);
  check_lengths(*view, frame.size(), wire_bytes);
  if (view->complete()) check_complete(*view);
  return 0;
}
