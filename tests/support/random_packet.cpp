#include "tests/support/random_packet.h"

#include <algorithm>

namespace weft::test {
namespace {

template <class T>
T any(Rng& rng) {
  return static_cast<T>(rng.next() >> 32);
}

roce::IpAddress random_address(Rng& rng, bool ipv6) {
  const Bytes bytes = random_bytes(rng, 16);
  return ipv6 ? roce::IpAddress::from_ipv6(bytes.data()) : roce::IpAddress::from_ipv4(bytes.data());
}

roce::MacAddress random_mac(Rng& rng) {
  roce::MacAddress mac;
  std::ranges::generate(mac, [&] { return any<std::uint8_t>(rng); });
  return mac;
}

roce::PacketPath random_path(Rng& rng, bool ipv6, std::uint8_t vlan_count) {
  roce::PacketPath path;
  path.src_mac = random_mac(rng);
  path.dst_mac = random_mac(rng);
  path.vlans.count = vlan_count;
  for (std::size_t i = 0; i < vlan_count; ++i) {
    const bool outer_of_two = vlan_count == 2 && i == 0;
    path.vlans.tags[i] = {outer_of_two ? roce::kEtherTypeVlanAd : roce::kEtherTypeVlan,
                          any<std::uint16_t>(rng)};
  }
  path.src = random_address(rng, ipv6);
  path.dst = random_address(rng, ipv6);
  path.tos = any<std::uint8_t>(rng);
  path.ttl = any<std::uint8_t>(rng);
  path.ip_id = any<std::uint16_t>(rng);
  path.dont_fragment = rng.chance(0.5);
  path.flow_label = any<std::uint32_t>(rng) & 0xfffff;
  path.udp_source_port = any<std::uint16_t>(rng);
  return path;
}

roce::PacketHeaders random_headers(Rng& rng, const roce::OpcodeInfo& op, std::size_t payload_bytes) {
  roce::PacketHeaders headers;
  headers.bth = {.opcode = op.opcode,
                 .solicited_event = rng.chance(0.5),
                 .mig_req = rng.chance(0.5),
                 .pad_bytes = roce::pad_for(payload_bytes),
                 .pkey = any<std::uint16_t>(rng),
                 .fecn = rng.chance(0.5),
                 .becn = rng.chance(0.5),
                 .dest_qpn = any<std::uint32_t>(rng) & 0xffffff,
                 .ack_req = rng.chance(0.5),
                 .psn = roce::Psn(any<std::uint32_t>(rng))};
  headers.deth = {any<std::uint32_t>(rng), any<std::uint32_t>(rng) & 0xffffff};
  headers.reth = {rng.next(), any<std::uint32_t>(rng), any<std::uint32_t>(rng)};
  headers.atomic_eth = {rng.next(), any<std::uint32_t>(rng), rng.next(), rng.next()};
  headers.aeth = {any<std::uint8_t>(rng), any<std::uint32_t>(rng) & 0xffffff};
  headers.atomic_ack_original = rng.next();
  headers.feth = any<std::uint32_t>(rng);
  headers.imm = any<std::uint32_t>(rng);
  headers.ieth_rkey = any<std::uint32_t>(rng);
  return headers;
}

}  // namespace

Bytes random_bytes(Rng& rng, std::size_t count) {
  Bytes bytes(count);
  std::ranges::generate(bytes, [&] { return any<std::uint8_t>(rng); });
  return bytes;
}

RandomPacket random_packet(Rng& rng, const roce::OpcodeInfo& op, bool ipv6, std::uint8_t vlan_count,
                           std::size_t payload_bytes) {
  if (!op.carries_payload) payload_bytes = 0;
  RandomPacket packet;
  packet.path = random_path(rng, ipv6, vlan_count);
  packet.headers = random_headers(rng, op, payload_bytes);
  packet.payload = random_bytes(rng, payload_bytes);
  return packet;
}

RandomPacket random_packet(Rng& rng, std::size_t max_payload_bytes) {
  const auto table = roce::opcode_table();
  const auto& op = table[rng.below(table.size())];
  const bool ipv6 = rng.chance(0.5);
  const auto vlan_count = static_cast<std::uint8_t>(rng.below(roce::kMaxVlanTags + 1));
  return random_packet(rng, op, ipv6, vlan_count, rng.between(0, max_payload_bytes));
}

}  // namespace weft::test
