#include "agent/wire/format.h"

namespace weft::wire {

std::string_view describe(PacketType type) {
  switch (type) {
    case PacketType::kHello:
      return "hello";
    case PacketType::kFeedback:
      return "feedback";
    case PacketType::kAnnouncement:
      return "announcement";
    case PacketType::kManifest:
      return "manifest";
    case PacketType::kRepair:
      return "repair";
    case PacketType::kAckCopy:
      return "ack_copy";
  }
  return "unknown";
}

std::string_view describe(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNotWeft:
      return "not a Weft packet";
    case Refusal::kOtherVersion:
      return "another protocol version";
    case Refusal::kMalformed:
      return "malformed";
    case Refusal::kUnknownSender:
      return "unknown sender boot id";
    case Refusal::kBadTag:
      return "wrong authentication tag";
    case Refusal::kReplayed:
      return "replayed";
    case Refusal::kNotReady:
      return "before the hello is complete or after the peer fell silent";
    case Refusal::kTooManyHellos:
      return "too many hellos of unknown senders";
  }
  return "unknown";
}

void write_header(const Header& header, MutableByteView out) {
  store_be32(out.data(), kMagic);
  out[4] = kVersion;
  out[5] = static_cast<std::uint8_t>(header.type);
  out[6] = header.lane;
  out[7] = header.lane_count;
  store_be64(out.data() + 8, header.boot_id_prefix);
  store_be64(out.data() + 16, header.counter);
}

tl::expected<Header, Refusal> parse_header(ByteView udp_payload) {
  if (!has_magic(udp_payload)) return tl::unexpected(Refusal::kNotWeft);
  if (udp_payload.size() < kEnvelopeBytes) return tl::unexpected(Refusal::kMalformed);
  if (udp_payload[4] != kVersion) return tl::unexpected(Refusal::kOtherVersion);
  const auto type = looks_like_weft(udp_payload);
  if (!type) return tl::unexpected(Refusal::kMalformed);
  const Header header{
      .type = *type,
      .lane = udp_payload[6],
      .lane_count = udp_payload[7],
      .boot_id_prefix = load_be64(udp_payload.data() + 8),
      .counter = load_be64(udp_payload.data() + 16),
  };
  if (header.lane >= header.lane_count || header.counter == 0) return tl::unexpected(Refusal::kMalformed);
  return header;
}

}  // namespace weft::wire
