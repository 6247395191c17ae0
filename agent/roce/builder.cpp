#include "agent/roce/builder.h"

#include <algorithm>

#include "agent/roce/icrc.h"

namespace weft::roce {
namespace {

std::size_t lower_bytes(const PacketPath& path) {
  return kEthernetBytes + path.vlans.count * kVlanTagBytes + (path.src.ipv6 ? kIpv6Bytes : kIpv4Bytes);
}

std::uint8_t* write_bth(std::uint8_t* p, const Bth& bth, std::uint8_t pad_bytes) {
  p[0] = static_cast<std::uint8_t>(bth.opcode);
  p[1] =
      static_cast<std::uint8_t>((bth.solicited_event ? 0x80 : 0) | (bth.mig_req ? 0x40 : 0) | pad_bytes << 4);
  store_be16(p + 2, bth.pkey);
  p[4] = static_cast<std::uint8_t>((bth.fecn ? 0x80 : 0) | (bth.becn ? 0x40 : 0));
  store_be24(p + 5, bth.dest_qpn);
  p[8] = bth.ack_req ? 0x80 : 0;
  store_be24(p + 9, bth.psn.value);
  return p + kBthBytes;
}

std::uint8_t* write_extensions(std::uint8_t* p, const OpcodeInfo& op, const PacketHeaders& headers) {
  if (op.has(kExtDeth)) {
    store_be32(p, headers.deth.qkey);
    store_be32(p + 4, headers.deth.source_qpn & 0xffffff);
    p += kDethBytes;
  }
  if (op.has(kExtFeth)) {
    store_be32(p, headers.feth);
    p += kFethBytes;
  }
  if (op.has(kExtReth)) {
    store_be64(p, headers.reth.va);
    store_be32(p + 8, headers.reth.rkey);
    store_be32(p + 12, headers.reth.length_bytes);
    p += kRethBytes;
  }
  if (op.has(kExtAtomicEth)) {
    store_be64(p, headers.atomic_eth.va);
    store_be32(p + 8, headers.atomic_eth.rkey);
    store_be64(p + 12, headers.atomic_eth.swap_or_add);
    store_be64(p + 20, headers.atomic_eth.compare);
    p += kAtomicEthBytes;
  }
  if (op.has(kExtAeth)) {
    p[0] = headers.aeth.syndrome;
    store_be24(p + 1, headers.aeth.msn);
    p += kAethBytes;
  }
  if (op.has(kExtAtomicAckEth)) {
    store_be64(p, headers.atomic_ack_original);
    p += kAtomicAckEthBytes;
  }
  if (op.has(kExtImm)) {
    store_be32(p, headers.imm);
    p += kImmBytes;
  }
  if (op.has(kExtIeth)) {
    store_be32(p, headers.ieth_rkey);
    p += kIethBytes;
  }
  if (op.has(kExtCnpReserved)) p = std::fill_n(p, kCnpReservedBytes, std::uint8_t{0});
  return p;
}

}  // namespace

void fix_ipv4_checksum(std::uint8_t* ipv4_header) {
  store_be16(ipv4_header + 10, 0);
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < kIpv4Bytes; i += 2)
    sum += load_be16(ipv4_header + i);
  sum = (sum & 0xffff) + (sum >> 16);
  sum += sum >> 16;
  store_be16(ipv4_header + 10, static_cast<std::uint16_t>(~sum));
}

void store_icrc(bool ipv6, MutableByteView ip_packet) {
  const std::size_t covered_bytes = ip_packet.size() - kIcrcBytes;
  const auto wire = icrc_to_wire(icrc_of(ipv6, ip_packet.first(covered_bytes)));
  std::copy(wire.begin(), wire.end(), ip_packet.begin() + static_cast<std::ptrdiff_t>(covered_bytes));
}

std::size_t build_lower_headers(MutableByteView out, const PacketPath& path, std::size_t udp_bytes) {
  std::uint8_t* p = out.data();
  p = std::copy(path.dst_mac.begin(), path.dst_mac.end(), p);
  p = std::copy(path.src_mac.begin(), path.src_mac.end(), p);
  for (std::size_t i = 0; i < path.vlans.count; ++i) {
    store_be16(p, path.vlans.tags[i].tpid);
    store_be16(p + 2, path.vlans.tags[i].tci);
    p += kVlanTagBytes;
  }
  store_be16(p, path.src.ipv6 ? kEtherTypeIpv6 : kEtherTypeIpv4);
  p += 2;
  if (path.src.ipv6) {
    store_be32(p, 6U << 28 | std::uint32_t{path.tos} << 20 | (path.flow_label & 0xfffff));
    store_be16(p + 4, static_cast<std::uint16_t>(udp_bytes));
    p[6] = kIpProtocolUdp;
    p[7] = path.ttl;
    std::copy_n(path.src.bytes.begin(), 16, p + 8);
    std::copy_n(path.dst.bytes.begin(), 16, p + 24);
    p += kIpv6Bytes;
  } else {
    p[0] = kIpv4NoOptions;
    p[1] = path.tos;
    store_be16(p + 2, static_cast<std::uint16_t>(kIpv4Bytes + udp_bytes));
    store_be16(p + 4, path.ip_id);
    store_be16(p + 6, path.dont_fragment ? kIpv4DontFragment : 0);
    p[8] = path.ttl;
    p[9] = kIpProtocolUdp;
    std::copy_n(path.src.bytes.begin(), 4, p + 12);
    std::copy_n(path.dst.bytes.begin(), 4, p + 16);
    fix_ipv4_checksum(p);
    p += kIpv4Bytes;
  }
  return static_cast<std::size_t>(p - out.data());
}

std::size_t frame_bytes_for(const PacketPath& path, Opcode opcode, std::size_t payload_bytes) {
  return lower_bytes(path) + kUdpBytes + kBthBytes + opcode_info(opcode).extension_bytes + payload_bytes +
         pad_for(payload_bytes) + kIcrcBytes;
}

std::size_t build_frame(MutableByteView out, const PacketPath& path, const PacketHeaders& headers,
                        ByteView payload) {
  const OpcodeInfo& op = opcode_info(headers.bth.opcode);
  const std::size_t total_bytes = frame_bytes_for(path, op.opcode, payload.size());
  const std::size_t l4_offset = build_lower_headers(out, path, total_bytes - lower_bytes(path));
  std::uint8_t* p = out.data() + l4_offset;
  store_be16(p, path.udp_source_port);
  store_be16(p + 2, kRoceUdpPort);
  store_be16(p + 4, static_cast<std::uint16_t>(total_bytes - l4_offset));
  store_be16(p + 6, 0);
  p += kUdpBytes;
  const std::uint8_t pad_bytes = pad_for(payload.size());
  p = write_bth(p, headers.bth, pad_bytes);
  p = write_extensions(p, op, headers);
  p = std::copy(payload.begin(), payload.end(), p);
  std::fill_n(p, pad_bytes, std::uint8_t{0});
  const std::size_t l3_offset = l4_offset - (path.src.ipv6 ? kIpv6Bytes : kIpv4Bytes);
  store_icrc(path.src.ipv6, out.subspan(l3_offset, total_bytes - l3_offset));
  return total_bytes;
}

Bytes build_frame(const PacketPath& path, const PacketHeaders& headers, ByteView payload) {
  Bytes frame(frame_bytes_for(path, headers.bth.opcode, payload.size()));
  build_frame(frame, path, headers, payload);
  return frame;
}

}  // namespace weft::roce
