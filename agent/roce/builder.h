// Builds RoCEv2 frames: for the endpoint, for filled packets and for tests. The result is complete and right:
// lengths, pad, IPv4 header checksum and ICRC are computed; the UDP checksum is 0, as rdma_rxe sends it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "agent/base/bytes.h"
#include "agent/roce/headers.h"
#include "agent/roce/ip_address.h"

namespace weft::roce {

using MacAddress = std::array<std::uint8_t, 6>;

// Everything below the BTH.
struct PacketPath {
  MacAddress src_mac{};
  MacAddress dst_mac{};
  VlanStack vlans;
  IpAddress src;
  IpAddress dst;  // of the same family as src
  std::uint8_t tos = 0;
  std::uint8_t ttl = 64;
  std::uint16_t ip_id = 0;       // IPv4 only
  bool dont_fragment = true;     // IPv4 only
  std::uint32_t flow_label = 0;  // IPv6 only, 20 bits
  std::uint16_t udp_source_port = 0xc000;
};

// BTH and the extended headers its opcode calls for. An extension the opcode has and this lacks is written as
// zeros; one it lacks is ignored. `bth.pad_bytes` is ignored: the pad follows from the payload.
struct PacketHeaders {
  Bth bth;
  Deth deth;
  Reth reth;
  AtomicEth atomic_eth;
  Aeth aeth;
  std::uint64_t atomic_ack_original = 0;
  std::uint32_t feth = 0;  // raw FETH word
  std::uint32_t imm = 0;
  std::uint32_t ieth_rkey = 0;
};

// Length of the frame build_frame would make.
std::size_t frame_bytes_for(const PacketPath& path, Opcode opcode, std::size_t payload_bytes);

// Writes the frame into `out`, which has at least frame_bytes_for() bytes; returns the bytes written. The
// payload must not overlap `out`, and is empty where the opcode carries none. The whole IP packet must be at
// most 65535 bytes.
std::size_t build_frame(MutableByteView out, const PacketPath& path, const PacketHeaders& headers,
                        ByteView payload);

// The same as a new vector.
Bytes build_frame(const PacketPath& path, const PacketHeaders& headers, ByteView payload);

// Ethernet, VLAN tags and IP header alone, for any UDP packet; returns the offset of the UDP header.
// `udp_bytes` counts UDP header and what follows. IPv4's checksum is right.
std::size_t build_lower_headers(MutableByteView out, const PacketPath& path, std::size_t udp_bytes);

// Recomputes the IPv4 header checksum in place (20-byte header).
void fix_ipv4_checksum(std::uint8_t* ipv4_header);

// Recomputes and stores the ICRC of an IP packet in place; the packet includes room for its last four bytes.
void store_icrc(bool ipv6, MutableByteView ip_packet);

}  // namespace weft::roce
