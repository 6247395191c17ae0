#include "tests/support/message_json.h"

#include "tests/support/random_message.h"

namespace weft::test {

namespace {

using nlohmann::json;

constexpr std::array<const char*, 3> kStates = {"seeking", "echo_seen", "complete"};

wire::StreamId stream_of(const json& fields) {
  return {.class_id = fields["class"], .level = fields["level"]};
}

void put_stream(json& fields, wire::StreamId stream) {
  fields["class"] = stream.class_id;
  fields["level"] = stream.level;
}

wire::Hello hello_of(const json& f) {
  const auto state = std::ranges::find(kStates, f["state"].get<std::string>());
  return {.boot_id = boot_id_of(f["boot_id"]),
          .echoed_boot_id = boot_id_of(f["echoed_boot_id"]),
          .sent_at_ns = f["sent_at_ns"],
          .echoed_sent_at_ns = f["echoed_sent_at_ns"],
          .echo_delay_ns = f["echo_delay_ns"],
          .classes_digest = f["classes_digest"],
          .capabilities = f["capabilities"],
          .mtu_bytes = f["mtu_bytes"],
          .state = static_cast<wire::HelloState>(state - kStates.begin())};
}

json json_of(const wire::Hello& h) {
  return {{"boot_id", to_hex(h.boot_id)},
          {"echoed_boot_id", to_hex(h.echoed_boot_id)},
          {"sent_at_ns", h.sent_at_ns},
          {"echoed_sent_at_ns", h.echoed_sent_at_ns},
          {"echo_delay_ns", h.echo_delay_ns},
          {"classes_digest", h.classes_digest},
          {"capabilities", h.capabilities},
          {"mtu_bytes", h.mtu_bytes},
          {"state", kStates[static_cast<std::size_t>(h.state)]}};
}

wire::Feedback feedback_of(const json& f) {
  wire::Feedback feedback{.sequence = f["sequence"],
                          .period_us = f["period_us"],
                          .sent_at_ns = f["sent_at_ns"],
                          .echoed_sent_at_ns = f["echoed_sent_at_ns"],
                          .echo_delay_ns = f["echo_delay_ns"],
                          .loss = {.expected_packets = f["expected_packets"],
                                   .lost_packets = f["lost_packets"],
                                   .loss_runs = f["loss_runs"],
                                   .ce_marked_packets = f["ce_marked_packets"],
                                   .undecodable_packets = f["undecodable_packets"]},
                          .confirmed_flows = f["confirmed_flows"],
                          .covered = {}};
  for (const json& covered : f["covered"])
    feedback.covered.push_back({.stream = stream_of(covered), .ordinal = covered["ordinal"]});
  return feedback;
}

json json_of(const wire::Feedback& f) {
  json fields = {{"sequence", f.sequence},
                 {"period_us", f.period_us},
                 {"sent_at_ns", f.sent_at_ns},
                 {"echoed_sent_at_ns", f.echoed_sent_at_ns},
                 {"echo_delay_ns", f.echo_delay_ns},
                 {"expected_packets", f.loss.expected_packets},
                 {"lost_packets", f.loss.lost_packets},
                 {"loss_runs", f.loss.loss_runs},
                 {"ce_marked_packets", f.loss.ce_marked_packets},
                 {"undecodable_packets", f.loss.undecodable_packets},
                 {"confirmed_flows", f.confirmed_flows},
                 {"covered", json::array()}};
  for (const auto& covered : f.covered) {
    put_stream(fields["covered"].emplace_back(), covered.stream);
    fields["covered"].back()["ordinal"] = covered.ordinal;
  }
  return fields;
}

wire::Announcement announcement_of(const json& f) {
  wire::Announcement announcement;
  for (const json& flow : f["flows"]) {
    announcement.flows.push_back(
        {.id = flow["id"],
         .epoch = flow["epoch"],
         .stream = stream_of(flow),
         .key = {.src = roce::IpAddress::parse(flow["src"].get<std::string>()).value(),
                 .dst = roce::IpAddress::parse(flow["dst"].get<std::string>()).value(),
                 .dest_qpn = flow["dest_qpn"],
                 .vids = {},
                 .vlan_count = 0,
                 .response = flow["response"]}});
  }
  return announcement;
}

json json_of(const wire::Announcement& a) {
  json fields = {{"flows", json::array()}};
  for (const auto& flow : a.flows) {
    json& out = fields["flows"].emplace_back();
    out = {{"id", flow.id},
           {"epoch", flow.epoch},
           {"response", flow.key.response},
           {"dest_qpn", flow.key.dest_qpn},
           {"src", flow.key.src.to_string()},
           {"dst", flow.key.dst.to_string()}};
    put_stream(out, flow.stream);
  }
  return fields;
}

wire::Manifest manifest_of(const json& f) {
  wire::Manifest manifest{
      .stream = stream_of(f), .first_ordinal = f["first_ordinal"], .runs = {}, .descriptors = {}};
  for (const json& run : f["runs"]) {
    manifest.runs.push_back(
        {.flow = run["flow"], .first_psn = roce::Psn(run["first_psn"]), .packets = run["packets"]});
  }
  for (const json& d : f["descriptors"]) {
    wire::MessageDescriptor descriptor{
        .flow = d["flow"],
        .first_psn = roce::Psn(d["first_psn"]),
        .pmtu_bytes = d["pmtu_bytes"],
        .reth = {.va = d["va"], .rkey = d["rkey"], .length_bytes = d["length_bytes"]},
        .pkey = d["pkey"],
        .mig_req = d["mig_req"],
        .end = std::nullopt};
    if (!d["end"].is_null()) {
      descriptor.end.emplace();
      descriptor.end->solicited_event = d["end"]["solicited_event"];
      if (!d["end"]["imm"].is_null()) descriptor.end->imm = d["end"]["imm"].get<std::uint32_t>();
    }
    manifest.descriptors.push_back(descriptor);
  }
  return manifest;
}

json json_of(const wire::Manifest& m) {
  json fields = {{"first_ordinal", m.first_ordinal}, {"runs", json::array()}, {"descriptors", json::array()}};
  put_stream(fields, m.stream);
  for (const auto& run : m.runs) {
    fields["runs"].push_back(
        {{"flow", run.flow}, {"first_psn", run.first_psn.value}, {"packets", run.packets}});
  }
  for (const auto& d : m.descriptors) {
    json out = {{"flow", d.flow},
                {"first_psn", d.first_psn.value},
                {"pmtu_bytes", d.pmtu_bytes},
                {"pkey", d.pkey},
                {"va", d.reth.va},
                {"rkey", d.reth.rkey},
                {"length_bytes", d.reth.length_bytes},
                {"mig_req", d.mig_req},
                {"end", nullptr}};
    if (d.end) {
      out["end"] = {{"solicited_event", d.end->solicited_event}, {"imm", nullptr}};
      if (d.end->imm) out["end"]["imm"] = *d.end->imm;
    }
    fields["descriptors"].push_back(out);
  }
  return fields;
}

Bytes encode_repair(const json& packet) {
  const json& f = packet["fields"];
  wire::Repair repair;
  repair.stream = stream_of(f);
  repair.first_ordinal = f["first_ordinal"];
  repair.interleave = f["interleave"];
  repair.block = f["block"];
  repair.code = f["code"] == "rs" ? wire::CodeKind::kReedSolomon : wire::CodeKind::kXor;
  repair.k = f["k"];
  repair.r = f["r"];
  repair.index = f["index"];
  repair.ce_seen = f["ce_seen"];
  repair.symbol_bytes = f["symbol_bytes"];
  if (packet.contains("sources")) {
    for (const json& source : packet["sources"]) {
      repair.sources.push_back(
          {.flow = source["flow"], .psn = roce::Psn(source["psn"]), .fingerprint = source["fingerprint"]});
    }
  }
  const Bytes symbol = bytes_of(f["symbol"]);
  repair.symbol = symbol;
  return encoded(repair);
}

json json_of(const wire::Repair& r) {
  json fields = {{"first_ordinal", r.first_ordinal},
                 {"interleave", r.interleave},
                 {"block", r.block},
                 {"code", r.code == wire::CodeKind::kReedSolomon ? "rs" : "xor"},
                 {"k", r.k},
                 {"r", r.r},
                 {"index", r.index},
                 {"ce_seen", r.ce_seen},
                 {"symbol_bytes", r.symbol_bytes},
                 {"list", nullptr},
                 {"symbol", to_hex(r.symbol)}};
  put_stream(fields, r.stream);
  for (const auto& source : r.sources) {
    fields["list"].push_back(
        {{"flow", source.flow}, {"psn", source.psn.value}, {"fingerprint", source.fingerprint}});
  }
  return fields;
}

template <class Body>
Result<json> as_json(const Result<Body>& body) {
  if (!body) return fail(body.error());
  return json_of(*body);
}

}  // namespace

Bytes bytes_of(const json& hex) { return from_hex(hex.get<std::string>()).value(); }

wire::BootId boot_id_of(const json& hex) {
  wire::BootId id{};
  std::ranges::copy(bytes_of(hex), id.begin());
  return id;
}

Bytes encode_fields(wire::PacketType type, const json& packet) {
  const json& fields = packet["fields"];
  switch (type) {
    case wire::PacketType::kHello:
      return encoded(hello_of(fields));
    case wire::PacketType::kFeedback:
      return encoded(feedback_of(fields));
    case wire::PacketType::kAnnouncement:
      return encoded(announcement_of(fields));
    case wire::PacketType::kManifest:
      return encoded(manifest_of(fields));
    case wire::PacketType::kRepair:
      return encode_repair(packet);
    case wire::PacketType::kAckCopy:
      break;
  }
  const Bytes ip_packet = bytes_of(fields["ip_packet"]);
  return encoded(wire::AckCopy{.ip_packet = ip_packet});
}

Result<json> decode_fields(wire::PacketType type, ByteView body) {
  switch (type) {
    case wire::PacketType::kHello:
      return as_json(wire::decode_hello(body));
    case wire::PacketType::kFeedback:
      return as_json(wire::decode_feedback(body));
    case wire::PacketType::kAnnouncement:
      return as_json(wire::decode_announcement(body));
    case wire::PacketType::kManifest:
      return as_json(wire::decode_manifest(body));
    case wire::PacketType::kRepair:
      return as_json(wire::decode_repair(body));
    case wire::PacketType::kAckCopy:
      break;
  }
  const auto copy = wire::decode_ack_copy(body);
  if (!copy) return fail(copy.error());
  return json{{"ip_packet", to_hex(copy->ip_packet)}};
}

}  // namespace weft::test
