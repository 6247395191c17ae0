#include "agent/ctl/weft_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "agent/wire/messages.h"

namespace weft::ctl {
namespace {

using nlohmann::ordered_json;
using wire::PacketType;

ByteView body_of(ByteView udp_payload) {
  return udp_payload.subspan(wire::kHeaderBytes, udp_payload.size() - wire::kEnvelopeBytes);
}

std::string_view name_of(WeftAuthenticator::Verdict verdict) {
  switch (verdict) {
    case WeftAuthenticator::Verdict::kOk:
      return "ok";
    case WeftAuthenticator::Verdict::kBad:
      return "bad";
    case WeftAuthenticator::Verdict::kUnchecked:
      break;
  }
  return "unchecked";
}

std::string_view name_of(wire::HelloState state) {
  switch (state) {
    case wire::HelloState::kSeeking:
      return "seeking";
    case wire::HelloState::kEchoSeen:
      return "echo_seen";
    case wire::HelloState::kComplete:
      break;
  }
  return "complete";
}

void put_stream(ordered_json& out, wire::StreamId stream) {
  out["class"] = stream.class_id;
  out["level"] = stream.level;
}

void put(ordered_json& out, const wire::Hello& hello) {
  out["boot_id"] = to_hex(hello.boot_id);
  out["echoed_boot_id"] = to_hex(hello.echoed_boot_id);
  out["state"] = name_of(hello.state);
  out["mtu"] = hello.mtu_bytes;
}

void put(ordered_json& out, const wire::Feedback& feedback) {
  out["sequence"] = feedback.sequence;
  out["period_us"] = feedback.period_us;
  out["expected_packets"] = feedback.loss.expected_packets;
  out["lost_packets"] = feedback.loss.lost_packets;
  out["loss_runs"] = feedback.loss.loss_runs;
  out["ce_marked_packets"] = feedback.loss.ce_marked_packets;
  out["undecodable_packets"] = feedback.loss.undecodable_packets;
  out["confirmed_flows"] = feedback.confirmed_flows;
  out["covered"] = ordered_json::array();
  for (const auto& covered : feedback.covered) {
    ordered_json& one = out["covered"].emplace_back();
    put_stream(one, covered.stream);
    one["ordinal"] = covered.ordinal;
  }
}

void put(ordered_json& out, const wire::Announcement& announcement) {
  out["flows"] = ordered_json::array();
  for (const auto& flow : announcement.flows) {
    ordered_json& one = out["flows"].emplace_back();
    one["id"] = flow.id;
    one["epoch"] = flow.epoch;
    put_stream(one, flow.stream);
    one["src"] = flow.key.src.to_string();
    one["dst"] = flow.key.dst.to_string();
    one["dest_qpn"] = flow.key.dest_qpn;
    one["response"] = flow.key.response;
  }
}

void put(ordered_json& out, const wire::Manifest& manifest) {
  put_stream(out, manifest.stream);
  out["first_ordinal"] = manifest.first_ordinal;
  out["runs"] = ordered_json::array();
  for (const auto& run : manifest.runs) {
    out["runs"].push_back({{"flow", run.flow}, {"psn", run.first_psn.value}, {"packets", run.packets}});
  }
  out["messages"] = ordered_json::array();
  for (const auto& message : manifest.descriptors) {
    out["messages"].push_back({{"flow", message.flow},
                               {"psn", message.first_psn.value},
                               {"pmtu", message.pmtu_bytes},
                               {"va", fmt::format("{:#x}", message.reth.va)},
                               {"rkey", message.reth.rkey},
                               {"len", message.reth.length_bytes},
                               {"end", message.end.has_value()}});
  }
}

void put(ordered_json& out, const wire::Repair& repair) {
  put_stream(out, repair.stream);
  out["code"] = repair.code == wire::CodeKind::kReedSolomon ? "rs" : "xor";
  out["first_ordinal"] = repair.first_ordinal;
  out["interleave"] = repair.interleave;
  out["block"] = repair.block;
  out["k"] = repair.k;
  out["r"] = repair.r;
  out["index"] = repair.index;
  out["symbol_bytes"] = repair.symbol_bytes;
  out["has_symbol"] = !repair.symbol.empty();
  out["sources"] = ordered_json::array();
  for (const auto& source : repair.sources) {
    out["sources"].push_back({{"flow", source.flow},
                              {"psn", source.psn.value},
                              {"fingerprint", fmt::format("{:04x}", source.fingerprint)}});
  }
}

void put(ordered_json& out, const wire::AckCopy& copy) { out["ip_packet"] = to_hex(copy.ip_packet); }

template <class Body>
std::string put_decoded(ordered_json& out, const Result<Body>& body) {
  if (!body) return body.error().to_string();
  put(out, *body);
  return {};
}

std::string put_body(ordered_json& out, PacketType type, ByteView body) {
  switch (type) {
    case PacketType::kHello:
      return put_decoded(out, wire::decode_hello(body));
    case PacketType::kFeedback:
      return put_decoded(out, wire::decode_feedback(body));
    case PacketType::kAnnouncement:
      return put_decoded(out, wire::decode_announcement(body));
    case PacketType::kManifest:
      return put_decoded(out, wire::decode_manifest(body));
    case PacketType::kRepair:
      return put_decoded(out, wire::decode_repair(body));
    case PacketType::kAckCopy:
      break;
  }
  return put_decoded(out, wire::decode_ack_copy(body));
}

}  // namespace

WeftAuthenticator::Verdict WeftAuthenticator::check(const wire::Header& header, ByteView udp_payload) {
  if (psks_.empty()) return Verdict::kUnchecked;
  return header.type == PacketType::kHello ? check_hello(header, udp_payload)
                                           : check_data(header, udp_payload);
}

WeftAuthenticator::Verdict WeftAuthenticator::check_hello(const wire::Header& header, ByteView udp_payload) {
  const auto hello = wire::decode_hello(body_of(udp_payload));
  if (!hello) return Verdict::kUnchecked;
  for (std::size_t i = 0; i < psks_.size(); ++i) {
    const auto key = wire::PacketKey::for_hello(psks_[i], hello->boot_id);
    if (!key.verify(header.lane, header.counter, udp_payload)) continue;
    if (std::ranges::find(known_, hello->boot_id, &Known::boot_id) == known_.end()) {
      known_.push_back({.boot_id = hello->boot_id, .psk = i});
    }
    return Verdict::kOk;
  }
  return Verdict::kBad;
}

WeftAuthenticator::Verdict WeftAuthenticator::check_data(const wire::Header& header,
                                                         ByteView udp_payload) const {
  bool tried = false;
  for (const Known& sender : known_) {
    if (load_be64(sender.boot_id.data()) != header.boot_id_prefix) continue;
    for (const Known& receiver : known_) {
      if (receiver.psk != sender.psk || receiver.boot_id == sender.boot_id) continue;
      tried = true;
      const auto key = wire::PacketKey::for_data(psks_[sender.psk], sender.boot_id, receiver.boot_id);
      if (key.verify(header.lane, header.counter, udp_payload)) return Verdict::kOk;
    }
  }
  return tried ? Verdict::kBad : Verdict::kUnchecked;
}

WeftReport report_weft(ByteView udp_payload, bool complete, WeftAuthenticator& authenticator) {
  WeftReport report;
  const auto header = wire::parse_header(udp_payload);
  if (!header) {
    report.malformed = wire::describe(header.error());
    return report;
  }
  report.fields["type"] = wire::describe(header->type);
  report.fields["lane"] = header->lane;
  report.fields["counter"] = header->counter;
  report.fields["sender"] = fmt::format("{:016x}", header->boot_id_prefix);
  auto verdict = WeftAuthenticator::Verdict::kUnchecked;
  if (complete) {
    report.malformed = put_body(report.fields, header->type, body_of(udp_payload));
    verdict = authenticator.check(*header, udp_payload);
  }
  report.fields["auth"] = name_of(verdict);
  return report;
}

std::string text_of(const WeftReport& report) {
  std::string line = report.fields.value("type", "");
  for (const auto& [name, value] : report.fields.items()) {
    if (name == "type" || name == "auth" || value.is_structured()) continue;
    line += fmt::format(" {} {}", name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  if (!report.malformed.empty()) line += fmt::format(" malformed: {}", report.malformed);
  if (report.fields.contains("auth")) line += " auth " + report.fields["auth"].get<std::string>();
  return line;
}

}  // namespace weft::ctl
