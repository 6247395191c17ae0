#include "tests/support/random_message.h"

namespace weft::test {

namespace {

std::uint8_t byte(Rng& rng) { return static_cast<std::uint8_t>(rng.next()); }
std::uint16_t word(Rng& rng) { return static_cast<std::uint16_t>(rng.next()); }
std::uint32_t dword(Rng& rng) { return static_cast<std::uint32_t>(rng.next()); }
roce::Psn psn(Rng& rng) { return roce::Psn(dword(rng)); }

void fill(Rng& rng, MutableByteView out) {
  for (std::uint8_t& b : out)
    b = byte(rng);
}

wire::StreamId stream(Rng& rng) {
  return {.class_id = static_cast<std::uint8_t>(rng.below(wire::kMaxClasses)),
          .level = static_cast<std::uint8_t>(rng.below(wire::kLevels))};
}

roce::IpAddress address(Rng& rng, bool ipv6) {
  roce::IpAddress made;
  made.ipv6 = ipv6;
  fill(rng, MutableByteView(made.bytes).first(ipv6 ? 16 : 4));
  return made;
}

// Small counts often, the limit sometimes.
std::size_t count(Rng& rng, std::size_t least, std::size_t most) {
  if (rng.chance(0.05)) return most;
  return least + rng.below(std::min<std::size_t>(most - least, 8) + 1);
}

}  // namespace

wire::BootId random_boot_id(Rng& rng) {
  wire::BootId id;
  fill(rng, id);
  id[15] |= 1;  // never all zero
  return id;
}

wire::Hello random_hello(Rng& rng) {
  return {
      .boot_id = random_boot_id(rng),
      .echoed_boot_id = rng.chance(0.5) ? random_boot_id(rng) : wire::BootId{},
      .sent_at_ns = rng.next() | 1,
      .echoed_sent_at_ns = rng.next(),
      .echo_delay_ns = rng.next(),
      .classes_digest = rng.next(),
      .capabilities = dword(rng),
      .mtu_bytes = word(rng),
      .state = static_cast<wire::HelloState>(rng.below(3)),
  };
}

wire::Feedback random_feedback(Rng& rng) {
  wire::Feedback feedback{
      .sequence = dword(rng),
      .period_us = dword(rng),
      .sent_at_ns = rng.next() | 1,
      .echoed_sent_at_ns = rng.next(),
      .echo_delay_ns = rng.next(),
      .loss = {.expected_packets = rng.next(),
               .lost_packets = rng.next(),
               .loss_runs = rng.next(),
               .ce_marked_packets = rng.next(),
               .undecodable_packets = rng.next()},
      .confirmed_flows = {},
      .covered = {},
  };
  feedback.confirmed_flows.resize(count(rng, 0, wire::kMaxConfirmedFlows));
  for (wire::FlowId& flow : feedback.confirmed_flows)
    flow = word(rng);
  feedback.covered.resize(count(rng, 0, wire::kMaxCovered));
  for (auto& covered : feedback.covered)
    covered = {.stream = stream(rng), .ordinal = dword(rng)};
  return feedback;
}

wire::Announcement random_announcement(Rng& rng) {
  wire::Announcement announcement;
  announcement.flows.resize(count(rng, 1, wire::kMaxAnnouncedFlows));
  for (auto& flow : announcement.flows) {
    const bool ipv6 = rng.chance(0.5);
    flow.id = word(rng);
    flow.epoch = byte(rng);
    flow.stream = stream(rng);
    flow.key.src = address(rng, ipv6);
    flow.key.dst = address(rng, ipv6);
    flow.key.dest_qpn = dword(rng) & 0xffffff;
    flow.key.response = rng.chance(0.5);
  }
  return announcement;
}

wire::Manifest random_manifest(Rng& rng) {
  wire::Manifest manifest{.stream = stream(rng), .first_ordinal = dword(rng), .runs = {}, .descriptors = {}};
  manifest.runs.resize(count(rng, 0, wire::kMaxManifestRuns));
  for (auto& run : manifest.runs) {
    run = {.flow = word(rng),
           .first_psn = psn(rng),
           .packets = static_cast<std::uint16_t>(rng.between(1, 0xffff))};
  }
  manifest.descriptors.resize(count(rng, manifest.runs.empty() ? 1 : 0, wire::kMaxManifestDescriptors));
  for (auto& descriptor : manifest.descriptors) {
    descriptor.flow = word(rng);
    descriptor.first_psn = psn(rng);
    descriptor.pmtu_bytes = static_cast<std::uint16_t>(256U << rng.below(5));
    descriptor.reth = {.va = rng.next(), .rkey = dword(rng), .length_bytes = dword(rng)};
    descriptor.pkey = word(rng);
    descriptor.mig_req = rng.chance(0.5);
    if (rng.chance(0.5)) {
      descriptor.end.emplace();
      descriptor.end->solicited_event = rng.chance(0.5);
      if (rng.chance(0.5)) descriptor.end->imm = dword(rng);
    }
  }
  return manifest;
}

wire::Repair random_repair(Rng& rng, Bytes& symbol) {
  wire::Repair repair;
  repair.stream = stream(rng);
  repair.first_ordinal = dword(rng);
  repair.interleave = static_cast<std::uint8_t>(rng.between(1, 255));
  repair.block = static_cast<std::uint8_t>(rng.below(repair.interleave));
  repair.code = rng.chance(0.5) ? wire::CodeKind::kXor : wire::CodeKind::kReedSolomon;
  repair.r = static_cast<std::uint8_t>(rng.between(1, fec::kMaxRows));
  repair.index = static_cast<std::uint8_t>(rng.below(repair.r));
  repair.ce_seen = rng.chance(0.1);
  repair.symbol_bytes =
      static_cast<std::uint16_t>(rng.chance(0.05) ? wire::kMaxSymbolBytes : rng.between(1, 1200));

  // A few flows with a stride each; now and then a packet is sent again.
  struct Flow {
    wire::FlowId id;
    roce::Psn next;
    std::uint32_t stride;
  };
  std::vector<Flow> flows(rng.between(1, 6));
  for (Flow& flow : flows)
    flow = {word(rng), psn(rng), static_cast<std::uint32_t>(rng.between(1, 40))};
  const std::size_t wanted = rng.between(1, fec::kMaxColumns);
  wire::RepairListBuilder builder(1400);
  while (repair.sources.size() < wanted) {
    Flow& flow = flows[rng.below(flows.size())];
    flow.next = rng.chance(0.02) ? flow.next - static_cast<std::uint32_t>(rng.below(100))
                                 : flow.next + flow.stride * static_cast<std::uint32_t>(rng.between(1, 3));
    const wire::Repair::Source source{.flow = flow.id, .psn = flow.next, .fingerprint = word(rng)};
    if (!builder.add(source)) break;
    repair.sources.push_back(source);
  }
  repair.k = static_cast<std::uint8_t>(repair.sources.size());

  symbol.resize(repair.symbol_bytes);
  fill(rng, symbol);
  repair.symbol = symbol;
  return repair;
}

wire::RepairListBuilder list_of(const wire::Repair& repair) {
  wire::RepairListBuilder list(wire::kMaxSymbolBytes);
  for (const auto& source : repair.sources)
    list.add(source);
  return list;
}

Bytes encoded(const wire::Repair& repair) {
  const wire::RepairListBuilder list = list_of(repair);
  Bytes bytes(wire::repair_body_bytes(list.encoded_bytes(), repair.symbol.size()));
  wire::encode(repair, repair.sources.empty() ? nullptr : &list, bytes);
  return bytes;
}

}  // namespace weft::test
