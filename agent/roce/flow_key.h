// The name of an ordered flow. On the wire from A to B one QP pair carries two PSN sequences, A's requests
// and A's responses, so the direction of the operation is part of the key; two hosts may use the same QPN, so
// the addresses are too; and a VLAN stack separates networks that may reuse both.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "agent/roce/headers.h"
#include "agent/roce/ip_address.h"

namespace weft::roce {

struct FlowKey {
  IpAddress src;
  IpAddress dst;
  std::uint32_t dest_qpn = 0;
  std::array<std::uint16_t, kMaxVlanTags> vids{};  // 12 bits each; PCP does not separate flows
  std::uint8_t vlan_count = 0;
  bool response = false;

  friend bool operator==(const FlowKey&, const FlowKey&) = default;
};

}  // namespace weft::roce

template <>
struct std::hash<weft::roce::FlowKey> {
  std::size_t operator()(const weft::roce::FlowKey& key) const noexcept {
    const std::hash<weft::roce::IpAddress> address_hash;
    std::size_t h = address_hash(key.src) * 0x9e3779b97f4a7c15U;  // so that A to B is not B to A
    h = (h ^ address_hash(key.dst)) * 0xc4ceb9fe1a85ec53U;
    h ^= std::size_t{key.dest_qpn} << 1 | (key.response ? 1U : 0U);
    h ^= (std::size_t{key.vids[0]} << 40) ^ (std::size_t{key.vids[1]} << 28) ^
         (std::size_t{key.vlan_count} << 56);
    h *= 0xff51afd7ed558ccdU;
    return h ^ (h >> 33);
  }
};
