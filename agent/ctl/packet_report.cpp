#include "agent/ctl/packet_report.h"

#include <algorithm>
#include <chrono>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "agent/roce/icrc.h"
#include "agent/roce/udp_datagram.h"

namespace weft::ctl {
namespace {

using nlohmann::ordered_json;
using roce::PacketView;
using roce::Reject;

constexpr std::size_t kLinuxCookedBytes = 16;   // protocol in its last two bytes
constexpr std::size_t kLinuxCooked2Bytes = 20;  // protocol in its first two
constexpr std::size_t kLinuxCookedProtocolAt = 14;

// Bytes in front of the IP header of a captured packet without an Ethernet header; nullopt when there is no IP.
std::optional<std::size_t> bytes_before_ip(const CapturedPacket& packet) {
  if (packet.link == LinkType::kRawIp) return 0;
  const bool version2 = packet.link == LinkType::kLinuxCooked2;
  const std::size_t header_bytes = version2 ? kLinuxCooked2Bytes : kLinuxCookedBytes;
  if (packet.bytes.size() < header_bytes) return std::nullopt;
  const std::uint16_t protocol = load_be16(packet.bytes.data() + (version2 ? 0 : kLinuxCookedProtocolAt));
  if (protocol != roce::kEtherTypeIpv4 && protocol != roce::kEtherTypeIpv6) return std::nullopt;
  return header_bytes;
}

// The datagram with a Weft packet in it, to whatever port.
std::optional<roce::UdpDatagram> parse_weft(const CapturedPacket& packet) {
  std::optional<roce::UdpDatagram> datagram;
  if (packet.link == LinkType::kEthernet) {
    datagram = roce::UdpDatagram::parse(packet.bytes, packet.wire_bytes);
  } else if (const auto skipped = bytes_before_ip(packet)) {
    datagram = roce::UdpDatagram::parse_ip(packet.bytes.subspan(*skipped), packet.wire_bytes - *skipped);
  }
  return datagram && wire::has_magic(datagram->payload) ? datagram : std::nullopt;
}

std::string_view kind_of(Reject reject) { return roce::is_malformed(reject) ? "malformed" : "other"; }

std::string reason_of(const CapturedPacket& packet, Reject reject) {
  std::string reason(roce::describe(reject));
  if (reject == Reject::kTruncated && packet.bytes.size() < packet.wire_bytes) {
    reason += fmt::format(" (captured {} of {} bytes)", packet.bytes.size(), packet.wire_bytes);
  }
  return reason;
}

std::string_view icrc_state(const PacketView& view) {
  if (!view.complete()) return "unverifiable";
  return view.icrc_ok() ? "ok" : "bad";
}

std::string hex(std::uint64_t value) { return fmt::format("{:#x}", value); }

void add_extensions(ordered_json& report, const PacketView& view) {
  if (const auto deth = view.deth()) {
    report["deth"] = {{"qkey", deth->qkey}, {"source_qpn", deth->source_qpn}};
  }
  if (const auto feth = view.feth()) report["feth"] = *feth;
  if (const auto reth = view.reth()) {
    report["reth"] = {{"va", hex(reth->va)}, {"rkey", reth->rkey}, {"len", reth->length_bytes}};
  }
  if (const auto atomic = view.atomic_eth()) {
    report["atomic_eth"] = {{"va", hex(atomic->va)},
                            {"rkey", atomic->rkey},
                            {"swap_or_add", hex(atomic->swap_or_add)},
                            {"compare", hex(atomic->compare)}};
  }
  if (const auto aeth = view.aeth()) report["aeth"] = {{"syndrome", aeth->syndrome}, {"msn", aeth->msn}};
  if (const auto original = view.atomic_ack_original()) report["atomic_ack"] = {{"original", hex(*original)}};
  if (const auto imm = view.imm()) report["imm"] = *imm;
  if (const auto rkey = view.ieth_rkey()) report["ieth"] = {{"rkey", *rkey}};
}

ordered_json vids_of(const roce::VlanStack& vlans) {
  ordered_json vids = ordered_json::array();
  for (std::size_t i = 0; i < vlans.count; ++i)
    vids.push_back(vlans.tags[i].vid());
  return vids;
}

void add_roce(ordered_json& report, const PacketView& view) {
  const roce::Bth bth = view.bth();
  report["op"] = view.op().name;
  report["src"] = view.src_address().to_string();
  report["dst"] = view.dst_address().to_string();
  report["src_port"] = view.udp_source_port();
  report["dscp"] = view.dscp();
  report["ecn"] = view.ecn();
  report["vlans"] = vids_of(view.vlans());
  report["dest_qpn"] = bth.dest_qpn;
  report["psn"] = bth.psn.value;
  report["pkey"] = bth.pkey;
  report["se"] = bth.solicited_event;
  report["mig_req"] = bth.mig_req;
  report["ack_req"] = bth.ack_req;
  report["fecn"] = bth.fecn;
  report["becn"] = bth.becn;
  report["pad"] = bth.pad_bytes;
  report["payload"] = view.payload_bytes();
  add_extensions(report, view);
  report["icrc"] = icrc_state(view);
  if (view.complete()) report["icrc_hex"] = to_hex(roce::icrc_to_wire(view.icrc_found()));
}

void add_weft(ordered_json& report, const roce::UdpDatagram& datagram, const WeftReport& weft) {
  report["kind"] = weft.malformed.empty() ? "weft" : "malformed";
  if (!weft.malformed.empty()) report["reason"] = "Weft packet: " + weft.malformed;
  report["src"] = datagram.src.to_string();
  report["dst"] = datagram.dst.to_string();
  report["src_port"] = datagram.source_port;
  report["vlans"] = vids_of(datagram.vlans);
  report["weft"] = weft.fields;
}

std::string text_of(const PacketView& view) {
  const roce::Bth bth = view.bth();
  std::string line = fmt::format("{} > {} {} qpn {:#x} psn {} payload {}", view.src_address().to_string(),
                                 view.dst_address().to_string(), view.op().name, bth.dest_qpn, bth.psn.value,
                                 view.payload_bytes());
  if (const auto reth = view.reth()) {
    line += fmt::format(" va {:#x} rkey {:#x} len {}", reth->va, reth->rkey, reth->length_bytes);
  }
  if (const auto atomic = view.atomic_eth()) {
    line += fmt::format(" va {:#x} rkey {:#x}", atomic->va, atomic->rkey);
  }
  if (const auto aeth = view.aeth()) line += fmt::format(" syndrome {:#x} msn {}", aeth->syndrome, aeth->msn);
  if (const auto imm = view.imm()) line += fmt::format(" imm {:#x}", *imm);
  if (bth.solicited_event) line += " se";
  if (bth.ack_req) line += " ackreq";
  if (bth.fecn) line += " fecn";
  if (bth.becn) line += " becn";
  return line + fmt::format(" icrc {}", icrc_state(view));
}

// "10:01:02.123456", UTC.
std::string clock_time(Nanoseconds since_1970) {
  const auto micros = std::chrono::floor<std::chrono::microseconds>(since_1970);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(micros);
  return fmt::format("{:%H:%M:%S}.{:06}", fmt::gmtime(static_cast<std::time_t>(seconds.count())),
                     (micros - seconds).count());
}

}  // namespace

tl::expected<PacketView, Reject> parse_roce(const CapturedPacket& packet) {
  if (packet.link == LinkType::kEthernet) return PacketView::parse(packet.bytes, packet.wire_bytes);
  const auto skipped = bytes_before_ip(packet);
  if (!skipped) return tl::unexpected<Reject>(Reject::kNotIp);
  return PacketView::parse_ip(packet.bytes.subspan(*skipped), packet.wire_bytes - *skipped);
}

ordered_json json_report(const CapturedPacket& packet, WeftAuthenticator& authenticator) {
  ordered_json report{{"n", packet.number}, {"t_ns", packet.time.count()}};
  if (const auto view = parse_roce(packet)) {
    report["kind"] = "roce";
    add_roce(report, *view);
  } else if (const auto datagram = parse_weft(packet)) {
    add_weft(report, *datagram, report_weft(datagram->payload, datagram->complete, authenticator));
  } else {
    report["kind"] = kind_of(view.error());
    report["reason"] = reason_of(packet, view.error());
  }
  return report;
}

std::string text_report(const CapturedPacket& packet, WeftAuthenticator& authenticator) {
  std::string what;
  if (const auto view = parse_roce(packet)) {
    what = text_of(*view);
  } else if (const auto datagram = parse_weft(packet)) {
    what = fmt::format("{} > {} WEFT {}", datagram->src.to_string(), datagram->dst.to_string(),
                       text_of(report_weft(datagram->payload, datagram->complete, authenticator)));
  } else {
    what = fmt::format("{}: {}", kind_of(view.error()), reason_of(packet, view.error()));
  }
  return fmt::format("{} {} {}", packet.number, clock_time(packet.time), what);
}

}  // namespace weft::ctl
