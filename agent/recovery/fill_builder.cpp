#include "agent/recovery/fill_builder.h"

#include <algorithm>
#include <array>

#include "agent/recovery/rebuild.h"

namespace weft::recovery {
namespace {

using roce::Opcode;

constexpr std::array<std::uint8_t, roce::kMaxPmtuBytes> kZeros{};

Opcode filled_opcode(const LoggedMessage& message, roce::Psn psn) {
  const bool last = message.is_last(psn);
  const bool imm = last && message.descriptor.end->imm.has_value();
  if (message.packets() == 1) return imm ? Opcode::kRcRdmaWriteOnlyWithImmediate : Opcode::kRcRdmaWriteOnly;
  if (psn == message.descriptor.first_psn) return Opcode::kRcRdmaWriteFirst;
  if (!last) return Opcode::kRcRdmaWriteMiddle;
  return imm ? Opcode::kRcRdmaWriteLastWithImmediate : Opcode::kRcRdmaWriteLast;
}

// The path of the flow's newest packet, to build another with.
roce::PacketPath packet_path(const PathHeaders& headers) {
  const std::uint8_t* frame = headers.bytes().data();
  const std::uint8_t* ip = frame + headers.ethernet_bytes();
  roce::PacketPath path;
  std::copy_n(frame, 6, path.dst_mac.begin());
  std::copy_n(frame + 6, 6, path.src_mac.begin());
  path.vlans.count = static_cast<std::uint8_t>(headers.vlan_bytes() / roce::kVlanTagBytes);
  for (std::size_t i = 0; i < path.vlans.count; ++i) {
    const std::uint8_t* tag = frame + 12 + i * roce::kVlanTagBytes;
    path.vlans.tags[i] = {.tpid = load_be16(tag), .tci = load_be16(tag + 2)};
  }
  if (headers.ipv6()) {
    const std::uint32_t first_word = load_be32(ip);
    path.tos = static_cast<std::uint8_t>(first_word >> 20);
    path.flow_label = first_word & 0xfffff;
    path.ttl = ip[7];
    path.src = roce::IpAddress::from_ipv6(ip + 8);
    path.dst = roce::IpAddress::from_ipv6(ip + 24);
    path.udp_source_port = load_be16(ip + roce::kIpv6Bytes);
  } else {
    path.tos = ip[1];
    path.ttl = ip[8];
    path.dont_fragment = (load_be16(ip + 6) & roce::kIpv4DontFragment) != 0;
    path.src = roce::IpAddress::from_ipv4(ip + 12);
    path.dst = roce::IpAddress::from_ipv4(ip + 16);
    path.udp_source_port = load_be16(ip + roce::kIpv4Bytes);
  }
  path.tos = rebuilt_tos(path.tos, false);
  return path;
}

}  // namespace

roce::PacketHeaders filled_headers(const LoggedMessage& message, std::uint32_t dest_qpn, roce::Psn psn) {
  const wire::MessageDescriptor& descriptor = message.descriptor;
  const bool last = message.is_last(psn);
  roce::PacketHeaders headers;
  headers.bth = {.opcode = filled_opcode(message, psn),
                 .solicited_event = last && descriptor.end->solicited_event,
                 .mig_req = descriptor.mig_req,
                 .pad_bytes = roce::pad_for(message.payload_bytes(psn)),
                 .pkey = descriptor.pkey,
                 .fecn = false,
                 .becn = false,
                 .dest_qpn = dest_qpn,
                 .ack_req = true,
                 .psn = psn};
  headers.reth = descriptor.reth;
  if (last) headers.imm = descriptor.end->imm.value_or(0);
  return headers;
}

std::optional<FrameId> build_filled_frame(FrameIo& io, const PathHeaders& path, const LoggedMessage& message,
                                          std::uint32_t dest_qpn, roce::Psn psn) {
  const roce::PacketHeaders headers = filled_headers(message, dest_qpn, psn);
  const roce::PacketPath below = packet_path(path);
  const ByteView payload = ByteView(kZeros).first(message.payload_bytes(psn));
  const auto frame = io.allocate(roce::frame_bytes_for(below, headers.bth.opcode, payload.size()));
  if (frame) roce::build_frame(io.writable_bytes(*frame), below, headers, payload);
  return frame;
}

}  // namespace weft::recovery
