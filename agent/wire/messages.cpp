#include "agent/wire/messages.h"

#include <bit>

#include <openssl/evp.h>

#include "agent/roce/headers.h"
#include "agent/wire/field_codec.h"

namespace weft::wire {

namespace {

constexpr std::size_t kHelloBytes = 72;
constexpr std::size_t kFeedbackFixedBytes = 76;
constexpr std::size_t kConfirmedBytes = 2;
constexpr std::size_t kCoveredBytes = kStreamBytes + 4;
constexpr std::size_t kAnnouncementFixedBytes = 1;
constexpr std::size_t kAnnouncedFlowFixedBytes = 8;
constexpr std::size_t kManifestFixedBytes = 8;
constexpr std::size_t kRunBytes = 7;
constexpr std::size_t kDescriptorFixedBytes = 25;

constexpr std::uint8_t kFlowIpv6 = 0x01;
constexpr std::uint8_t kFlowResponse = 0x02;
constexpr std::uint8_t kFlowReserved = 0xfc;

constexpr std::uint8_t kDescriptorMigReq = 0x01;
constexpr std::uint8_t kDescriptorEnd = 0x02;
constexpr std::uint8_t kDescriptorSolicited = 0x04;
constexpr std::uint8_t kDescriptorImm = 0x08;
constexpr std::uint8_t kDescriptorReserved = 0xf0;

roce::IpAddress read_address(ByteReader& reader, bool ipv6) {
  roce::IpAddress address;
  address.ipv6 = ipv6;
  reader.copy_to(MutableByteView(address.bytes).first(ipv6 ? 16 : 4));
  return address;
}

std::size_t descriptor_bytes(const MessageDescriptor& descriptor) {
  return kDescriptorFixedBytes + (descriptor.end && descriptor.end->imm ? roce::kImmBytes : 0);
}

void write_descriptor(ByteWriter& writer, const MessageDescriptor& descriptor) {
  unsigned flags = descriptor.mig_req ? kDescriptorMigReq : 0U;
  if (descriptor.end) {
    flags |= kDescriptorEnd;
    if (descriptor.end->solicited_event) flags |= kDescriptorSolicited;
    if (descriptor.end->imm) flags |= kDescriptorImm;
  }
  writer.u16(descriptor.flow);
  writer.u24(descriptor.first_psn.value);
  writer.u8(static_cast<std::uint8_t>(flags));
  writer.u8(static_cast<std::uint8_t>(std::countr_zero(descriptor.pmtu_bytes)));
  writer.u16(descriptor.pkey);
  writer.u64(descriptor.reth.va);
  writer.u32(descriptor.reth.rkey);
  writer.u32(descriptor.reth.length_bytes);
  if (descriptor.end && descriptor.end->imm) writer.u32(*descriptor.end->imm);
}

Result<MessageDescriptor> read_descriptor(ByteReader& reader) {
  MessageDescriptor descriptor;
  descriptor.flow = reader.u16();
  descriptor.first_psn = roce::Psn(reader.u24());
  const std::uint8_t flags = reader.u8();
  const std::uint8_t pmtu_log2 = reader.u8();
  descriptor.pkey = reader.u16();
  descriptor.reth.va = reader.u64();
  descriptor.reth.rkey = reader.u32();
  descriptor.reth.length_bytes = reader.u32();
  const bool has_imm = (flags & kDescriptorImm) != 0;
  const std::uint32_t imm = has_imm ? reader.u32() : 0;
  if (!reader.ok()) return truncated("manifest");
  if ((flags & kDescriptorReserved) != 0) return reserved("manifest");
  if (pmtu_log2 < 8 || pmtu_log2 > 12) return fail("no such path MTU", "manifest");
  descriptor.pmtu_bytes = static_cast<std::uint16_t>(1U << pmtu_log2);
  descriptor.mig_req = (flags & kDescriptorMigReq) != 0;
  if ((flags & kDescriptorEnd) != 0) {
    descriptor.end.emplace();
    descriptor.end->solicited_event = (flags & kDescriptorSolicited) != 0;
    if (has_imm) descriptor.end->imm = imm;
  } else if ((flags & (kDescriptorSolicited | kDescriptorImm)) != 0) {
    return fail("a message without an end has the flags of one", "manifest");
  }
  return descriptor;
}

}  // namespace

std::size_t body_bytes(const Hello& /*hello*/) { return kHelloBytes; }

std::size_t encode(const Hello& hello, MutableByteView out) {
  ByteWriter writer(out);
  writer.bytes(hello.boot_id);
  writer.bytes(hello.echoed_boot_id);
  writer.u64(hello.sent_at_ns);
  writer.u64(hello.echoed_sent_at_ns);
  writer.u64(hello.echo_delay_ns);
  writer.u64(hello.classes_digest);
  writer.u32(hello.capabilities);
  writer.u16(hello.mtu_bytes);
  writer.u8(static_cast<std::uint8_t>(hello.state));
  writer.u8(0);
  return writer.written();
}

Result<Hello> decode_hello(ByteView body) {
  ByteReader reader(body);
  Hello hello;
  reader.copy_to(hello.boot_id);
  reader.copy_to(hello.echoed_boot_id);
  hello.sent_at_ns = reader.u64();
  hello.echoed_sent_at_ns = reader.u64();
  hello.echo_delay_ns = reader.u64();
  hello.classes_digest = reader.u64();
  hello.capabilities = reader.u32();
  hello.mtu_bytes = reader.u16();
  const std::uint8_t state = reader.u8();
  const std::uint8_t padding = reader.u8();
  if (!reader.ok()) return truncated("hello");
  if (!reader.at_end()) return trailing("hello");
  if (padding != 0) return reserved("hello");
  if (state > static_cast<std::uint8_t>(HelloState::kComplete)) return fail("unknown state", "hello");
  hello.state = static_cast<HelloState>(state);
  if (hello.boot_id == BootId{}) return fail("the sender has no boot id", "hello");
  if (hello.sent_at_ns == 0) return fail("no time of sending", "hello");
  return hello;
}

std::size_t body_bytes(const Feedback& feedback) {
  return kFeedbackFixedBytes + feedback.confirmed_flows.size() * kConfirmedBytes +
         feedback.covered.size() * kCoveredBytes;
}

std::size_t encode(const Feedback& feedback, MutableByteView out) {
  ByteWriter writer(out);
  writer.u32(feedback.sequence);
  writer.u32(feedback.period_us);
  writer.u64(feedback.sent_at_ns);
  writer.u64(feedback.echoed_sent_at_ns);
  writer.u64(feedback.echo_delay_ns);
  writer.u64(feedback.loss.expected_packets);
  writer.u64(feedback.loss.lost_packets);
  writer.u64(feedback.loss.loss_runs);
  writer.u64(feedback.loss.ce_marked_packets);
  writer.u64(feedback.loss.undecodable_packets);
  writer.u16(static_cast<std::uint16_t>(feedback.confirmed_flows.size()));
  writer.u16(static_cast<std::uint16_t>(feedback.covered.size()));
  for (const FlowId flow : feedback.confirmed_flows)
    writer.u16(flow);
  for (const Feedback::Covered& covered : feedback.covered) {
    writer.u8(pack_stream(covered.stream));
    writer.u32(covered.ordinal);
  }
  return writer.written();
}

Result<Feedback> decode_feedback(ByteView body) {
  ByteReader reader(body);
  Feedback feedback;
  feedback.sequence = reader.u32();
  feedback.period_us = reader.u32();
  feedback.sent_at_ns = reader.u64();
  feedback.echoed_sent_at_ns = reader.u64();
  feedback.echo_delay_ns = reader.u64();
  feedback.loss.expected_packets = reader.u64();
  feedback.loss.lost_packets = reader.u64();
  feedback.loss.loss_runs = reader.u64();
  feedback.loss.ce_marked_packets = reader.u64();
  feedback.loss.undecodable_packets = reader.u64();
  const std::size_t confirmed_count = reader.u16();
  const std::size_t covered_count = reader.u16();
  if (!reader.ok()) return truncated("feedback");
  if (confirmed_count > kMaxConfirmedFlows) return fail("too many confirmed flows", "feedback");
  if (covered_count > kMaxCovered) return fail("more covered streams than there can be", "feedback");
  const std::size_t listed_bytes = confirmed_count * kConfirmedBytes + covered_count * kCoveredBytes;
  if (reader.left() < listed_bytes) return truncated("feedback");
  if (reader.left() > listed_bytes) return trailing("feedback");
  if (feedback.sent_at_ns == 0) return fail("no time of sending", "feedback");

  feedback.confirmed_flows.resize(confirmed_count);
  for (FlowId& flow : feedback.confirmed_flows)
    flow = reader.u16();
  feedback.covered.resize(covered_count);
  for (Feedback::Covered& covered : feedback.covered) {
    const std::uint8_t stream = reader.u8();
    if (!stream_is_valid(stream)) return reserved("feedback");
    covered = {.stream = unpack_stream(stream), .ordinal = reader.u32()};
  }
  return feedback;
}

std::size_t body_bytes(const Announcement& announcement) {
  std::size_t bytes = kAnnouncementFixedBytes;
  for (const Announcement::Flow& flow : announcement.flows) {
    bytes += kAnnouncedFlowFixedBytes + flow.key.src.view().size() + flow.key.dst.view().size();
  }
  return bytes;
}

std::size_t encode(const Announcement& announcement, MutableByteView out) {
  ByteWriter writer(out);
  writer.u8(static_cast<std::uint8_t>(announcement.flows.size()));
  for (const Announcement::Flow& flow : announcement.flows) {
    writer.u16(flow.id);
    writer.u8(flow.epoch);
    writer.u8(pack_stream(flow.stream));
    writer.u8(static_cast<std::uint8_t>((flow.key.src.ipv6 ? kFlowIpv6 : 0U) |
                                        (flow.key.response ? kFlowResponse : 0U)));
    writer.u24(flow.key.dest_qpn);
    writer.bytes(flow.key.src.view());
    writer.bytes(flow.key.dst.view());
  }
  return writer.written();
}

Result<Announcement> decode_announcement(ByteView body) {
  ByteReader reader(body);
  Announcement announcement;
  const std::size_t count = reader.u8();
  if (!reader.ok()) return truncated("announcement");
  if (count == 0) return fail("no flows", "announcement");
  for (std::size_t i = 0; i < count; ++i) {
    Announcement::Flow flow;
    flow.id = reader.u16();
    flow.epoch = reader.u8();
    const std::uint8_t stream = reader.u8();
    const std::uint8_t flags = reader.u8();
    flow.key.dest_qpn = reader.u24();
    flow.key.src = read_address(reader, (flags & kFlowIpv6) != 0);
    flow.key.dst = read_address(reader, (flags & kFlowIpv6) != 0);
    if (!reader.ok()) return truncated("announcement");
    if (!stream_is_valid(stream) || (flags & kFlowReserved) != 0) return reserved("announcement");
    flow.stream = unpack_stream(stream);
    flow.key.response = (flags & kFlowResponse) != 0;
    announcement.flows.push_back(flow);
  }
  if (!reader.at_end()) return trailing("announcement");
  return announcement;
}

std::size_t body_bytes(const Manifest& manifest) {
  std::size_t bytes = kManifestFixedBytes + manifest.runs.size() * kRunBytes;
  for (const MessageDescriptor& descriptor : manifest.descriptors)
    bytes += descriptor_bytes(descriptor);
  return bytes;
}

std::size_t encode(const Manifest& manifest, MutableByteView out) {
  ByteWriter writer(out);
  writer.u8(pack_stream(manifest.stream));
  writer.u8(static_cast<std::uint8_t>(manifest.runs.size()));
  writer.u8(static_cast<std::uint8_t>(manifest.descriptors.size()));
  writer.u8(0);
  writer.u32(manifest.first_ordinal);
  for (const Manifest::Run& run : manifest.runs) {
    writer.u16(run.flow);
    writer.u24(run.first_psn.value);
    writer.u16(run.packets);
  }
  for (const MessageDescriptor& descriptor : manifest.descriptors)
    write_descriptor(writer, descriptor);
  return writer.written();
}

Result<Manifest> decode_manifest(ByteView body) {
  ByteReader reader(body);
  const std::uint8_t stream = reader.u8();
  const std::size_t run_count = reader.u8();
  const std::size_t descriptor_count = reader.u8();
  const std::uint8_t padding = reader.u8();
  Manifest manifest;
  manifest.first_ordinal = reader.u32();
  if (!reader.ok() || reader.left() < run_count * kRunBytes + descriptor_count * kDescriptorFixedBytes) {
    return truncated("manifest");
  }
  if (!stream_is_valid(stream) || padding != 0) return reserved("manifest");
  if (run_count + descriptor_count == 0) return fail("nothing in it", "manifest");
  manifest.stream = unpack_stream(stream);
  manifest.runs.resize(run_count);
  for (Manifest::Run& run : manifest.runs) {
    run.flow = reader.u16();
    run.first_psn = roce::Psn(reader.u24());
    run.packets = reader.u16();
    if (run.packets == 0) return fail("an empty run", "manifest");
  }
  manifest.descriptors.reserve(descriptor_count);
  for (std::size_t i = 0; i < descriptor_count; ++i) {
    auto descriptor = read_descriptor(reader);
    if (!descriptor) return fail(descriptor.error());
    manifest.descriptors.push_back(*descriptor);
  }
  if (!reader.at_end()) return trailing("manifest");
  return manifest;
}

std::size_t body_bytes(const AckCopy& copy) { return copy.ip_packet.size(); }

std::size_t encode(const AckCopy& copy, MutableByteView out) {
  ByteWriter writer(out);
  writer.bytes(copy.ip_packet);
  return writer.written();
}

Result<AckCopy> decode_ack_copy(ByteView body) {
  if (body.size() < kMinAckCopyBytes) return truncated("ack copy");
  if (body.size() > kMaxAckCopyBytes) return fail("longer than any ACK", "ack copy");
  const unsigned version = body[0] >> 4;
  const std::size_t ip_bytes = version == 4   ? load_be16(body.data() + 2)
                               : version == 6 ? roce::kIpv6Bytes + load_be16(body.data() + 4)
                                              : 0;
  if (ip_bytes != body.size()) return fail("not exactly one IP packet", "ack copy");
  return AckCopy{.ip_packet = body};
}

std::uint64_t class_names_digest(const std::vector<std::string_view>& names_by_id) {
  std::string joined;
  for (const std::string_view name : names_by_id)
    joined.append(name).push_back('\n');
  std::array<std::uint8_t, EVP_MAX_MD_SIZE> digest{};
  EVP_Digest(joined.data(), joined.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  return load_be64(digest.data());
}

}  // namespace weft::wire
