#include "agent/recovery/weft_sender.h"

namespace weft::recovery {
namespace {

// Which bucket pays, and what is counted when the packet goes out or cannot be paid for. Repairs, manifests and
// announcements are counted by who asks for them: only they know a first copy from a repeat.
struct Accounting {
  bool overhead;
  std::optional<Event> sent;
  Event sent_bytes;
  Event no_budget;
};

Accounting accounting_of(wire::PacketType type) {
  using enum Event;
  switch (type) {
    case wire::PacketType::kRepair:
      return {true, std::nullopt, kRepairSentBytes, kRepairDroppedBudget};
    case wire::PacketType::kManifest:
      return {true, std::nullopt, kControlSentBytes, kManifestDroppedBudget};
    case wire::PacketType::kAnnouncement:
      return {true, kAnnouncementSent, kControlSentBytes, kManifestDroppedBudget};
    case wire::PacketType::kHello:
      return {false, kHelloSent, kControlSentBytes, kControlDroppedBudget};
    case wire::PacketType::kFeedback:
      return {false, kFeedbackSent, kControlSentBytes, kControlDroppedBudget};
    case wire::PacketType::kAckCopy:
      break;
  }
  return {false, kAckCopySent, kControlSentBytes, kControlDroppedBudget};
}

}  // namespace

WeftSender::WeftSender(FrameIo& io, Counters& counters, wire::PeerSession& session, const Config& config)
    : io_(io),
      counters_(counters),
      session_(session),
      udp_port_(config.udp_port),
      wan_mtu_bytes_(config.wan_mtu_bytes),
      overhead_(repair_bucket_limits(config.max_overhead), Time::zero()),
      control_(control_bucket_limits(), Time::zero()) {}

SendResult WeftSender::begin(wire::PacketType type, ClassId class_id, const PathHeaders& path,
                             std::size_t body_bytes, Time now, FrameId& frame) {
  if (!path.known()) return SendResult::kNoPath;
  const Accounting accounting = accounting_of(type);
  // The frame first: tokens cannot be given back.
  const auto allocated = io_.allocate(path.frame_header_bytes() + wire::kEnvelopeBytes + body_bytes);
  if (!allocated) {
    counters_.add(
        type == wire::PacketType::kRepair ? Event::kRepairDroppedNoFrame : Event::kControlDroppedNoFrame,
        class_id);
    return SendResult::kNoFrame;
  }
  const std::size_t ip_bytes = path.ip_and_udp_bytes() + wire::kEnvelopeBytes + body_bytes;
  const std::uint64_t keep_bytes = type == wire::PacketType::kAckCopy ? kKeptForFeedbackBytes : 0;
  if (!(accounting.overhead ? overhead_ : control_).spend(ip_bytes, now, keep_bytes)) {
    io_.release(*allocated);
    counters_.add(accounting.no_budget, class_id);
    return SendResult::kNoBudget;
  }
  frame = *allocated;
  return SendResult::kSent;
}

SendResult WeftSender::finish(wire::PacketType type, ClassId class_id, const PathHeaders& path,
                              MutableByteView bytes, FrameId frame) {
  if (!session_.seal(type, bytes.subspan(path.frame_header_bytes()))) {
    io_.release(frame);
    return SendResult::kNoKey;
  }
  path.finish_frame(bytes, udp_port_, next_ip_id_++);
  const Accounting accounting = accounting_of(type);
  if (accounting.sent) counters_.add(*accounting.sent, class_id);
  counters_.add(accounting.sent_bytes, class_id, bytes.size() - path.ethernet_bytes());
  io_.send(Port::kWan, frame);
  return SendResult::kSent;
}

}  // namespace weft::recovery
