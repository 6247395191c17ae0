#include "tests/support/encoder_rig.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "agent/roce/udp_datagram.h"

namespace weft::test {
namespace {

using std::chrono::milliseconds;

constexpr recovery::Time kOneWay = milliseconds(5);
constexpr recovery::Time kHandshake = milliseconds(100);

[[noreturn]] void broken(const char* what) {
  std::fprintf(stderr, "the encoder sent a broken packet: %s\n", what);
  std::abort();
}

template <class T>
T expect(Result<T> decoded, const char* what) {
  if (!decoded) broken(what);
  return std::move(*decoded);
}

// RFC 1071 over UDP pseudo header and datagram; 0 when right.
std::uint16_t checksum_residue(ByteView ip, bool ipv6) {
  const std::size_t header_bytes = ipv6 ? roce::kIpv6Bytes : roce::kIpv4Bytes;
  const ByteView addresses = ipv6 ? ip.subspan(8, 32) : ip.subspan(12, 8);
  const ByteView udp = ip.subspan(header_bytes);
  std::uint32_t sum = roce::kIpProtocolUdp + static_cast<std::uint32_t>(udp.size());
  for (const ByteView part : {addresses, udp}) {
    for (std::size_t i = 0; i < part.size(); ++i)
      sum += i % 2 == 0 ? std::uint32_t{part[i]} << 8 : part[i];
  }
  while (sum > 0xffff)
    sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

}  // namespace

EncoderRig::EncoderRig(std::uint64_t seed, recovery::PolicyTable policy_table, recovery::EncoderLimits limits,
                       recovery::WeftSender::Config config)
    : policy(std::move(policy_table)),
      sessions(seed, kOneWay),
      sender(pool, counters, sessions.session(Side::kA), config),
      encoder(pool, policy, sender, counters, limits),
      now_(0) {
  sessions.run(kHandshake);
  now_ = sessions.now();
  if (!sender.ready()) broken("no session");
}

void EncoderRig::send(const Bytes& frame, recovery::Tag tag) {
  const recovery::FrameId id = pool.put(frame);
  const auto view = roce::PacketView::parse(pool.bytes(id));
  if (!view) broken("not even sent: a test's frame is no RoCE packet");
  encoder.on_source(id, *view, tag, now_);
}

void EncoderRig::advance(recovery::Time duration) {
  const recovery::Time end = now_ + duration;
  while (true) {
    const auto due = encoder.next_deadline();
    if (!due || *due > end) break;
    now_ = std::max(now_, *due);
    encoder.tick(now_);
  }
  now_ = end;
  encoder.tick(now_);
}

void EncoderRig::feedback(const wire::Feedback& feedback, recovery::Time rtt) {
  encoder.on_feedback(feedback, rtt);
}

const WanTraffic& EncoderRig::wan() {
  for (const FramePool::Sent& sent : pool.take_sent(recovery::Port::kWan))
    read(sent);
  return wan_;
}

void EncoderRig::read(const FramePool::Sent& sent) {
  if (const auto view = roce::PacketView::parse(sent.bytes)) {
    wan_.source_bytes += view->ip_packet_bytes();
    wan_.sources.push_back(sent.bytes);
    return;
  }
  const auto datagram = roce::UdpDatagram::parse(sent.bytes);
  if (!datagram) broken("neither RoCE nor UDP");
  const std::size_t ethernet_bytes = roce::kEthernetBytes + datagram->vlans.count * roce::kVlanTagBytes;
  const ByteView ip = ByteView(sent.bytes).subspan(ethernet_bytes);
  if (checksum_residue(ip, datagram->src.ipv6) != 0) broken("UDP checksum");
  const auto opened = sessions.open_at(Side::kB, Bytes(datagram->payload.begin(), datagram->payload.end()));
  if (!opened) broken("it does not open");
  // Bodies refer to a copy that is gone: decode from the frame, whose layout is the same.
  const ByteView body =
      datagram->payload.subspan(wire::kHeaderBytes, datagram->payload.size() - wire::kEnvelopeBytes);
  switch (opened->header.type) {
    case wire::PacketType::kRepair: {
      WanTraffic::OwnedRepair repair{
          .value = expect(wire::decode_repair(body), "repair"), .symbol = {}, .at = now_};
      repair.symbol.assign(repair.value.symbol.begin(), repair.value.symbol.end());
      repair.value.symbol = {};
      wan_.repairs.push_back(std::move(repair));
      break;
    }
    case wire::PacketType::kManifest:
      wan_.manifests.push_back(expect(wire::decode_manifest(body), "manifest"));
      break;
    case wire::PacketType::kAnnouncement:
      wan_.announcements.push_back(expect(wire::decode_announcement(body), "announcement"));
      break;
    case wire::PacketType::kAckCopy: {
      const auto copy = expect(wire::decode_ack_copy(body), "ACK copy");
      wan_.ack_copies.emplace_back(copy.ip_packet.begin(), copy.ip_packet.end());
      wan_.control_bytes += ip.size();
      return;
    }
    default:
      broken("a kind the encoder does not send");
  }
  wan_.overhead_bytes += ip.size();
}

WriteFlow::WriteFlow(std::uint32_t queue_pair, bool ipv6) : qpn(queue_pair) {
  path.src_mac = {2, 0, 0, 0, 0, 1};
  path.dst_mac = {2, 0, 0, 0, 0, 2};
  path.src = *roce::IpAddress::parse(ipv6 ? "fd00:1::2" : "10.1.0.2");
  path.dst = *roce::IpAddress::parse(ipv6 ? "fd00:2::2" : "10.2.0.2");
  path.tos = 0x2a;  // DSCP 10, ECT(0)
  path.udp_source_port = static_cast<std::uint16_t>(0xc000 + queue_pair % 0x3fff);
}

std::vector<Bytes> WriteFlow::message(std::uint32_t bytes, std::optional<std::uint32_t> imm) {
  const roce::Psn first = psn;
  const std::uint32_t packets = roce::packets_for(bytes, pmtu_bytes);
  std::vector<Bytes> frames;
  for (std::uint32_t i = 0; i < packets; ++i)
    frames.push_back(packet(first, bytes, i, imm));
  psn += packets;
  return frames;
}

Bytes WriteFlow::packet(roce::Psn first, std::uint32_t bytes, std::uint32_t index,
                        std::optional<std::uint32_t> imm) {
  const std::uint32_t packets = roce::packets_for(bytes, pmtu_bytes);
  const bool last = index + 1 == packets;
  roce::PacketHeaders headers;
  using enum roce::Opcode;
  if (packets == 1)
    headers.bth.opcode = imm ? kRcRdmaWriteOnlyWithImmediate : kRcRdmaWriteOnly;
  else if (index == 0)
    headers.bth.opcode = kRcRdmaWriteFirst;
  else if (!last)
    headers.bth.opcode = kRcRdmaWriteMiddle;
  else
    headers.bth.opcode = imm ? kRcRdmaWriteLastWithImmediate : kRcRdmaWriteLast;
  headers.bth.dest_qpn = qpn;
  headers.bth.psn = first + index;
  headers.bth.ack_req = last;
  headers.reth = {.va = 0x10000, .rkey = 7, .length_bytes = bytes};
  headers.imm = imm.value_or(0);
  Bytes payload(last ? bytes - index * pmtu_bytes : pmtu_bytes);
  for (std::size_t i = 0; i < payload.size(); ++i)
    payload[i] = static_cast<std::uint8_t>(1 + (i * 31 + headers.bth.psn.value * 7 + qpn) % 255);
  path.ip_id = next_ip_id++;
  return roce::build_frame(path, headers, payload);
}

Bytes WriteFlow::acknowledge(roce::Psn acknowledged, std::uint8_t syndrome) {
  roce::PacketHeaders headers;
  headers.bth.opcode = roce::Opcode::kRcAcknowledge;
  headers.bth.dest_qpn = qpn;
  headers.bth.psn = acknowledged;
  headers.aeth = {.syndrome = syndrome, .msn = acknowledged.value};
  path.ip_id = next_ip_id++;
  return roce::build_frame(path, headers, {});
}

}  // namespace weft::test
