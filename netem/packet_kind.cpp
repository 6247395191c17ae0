#include "netem/packet_kind.h"

#include "agent/roce/view.h"
#include "agent/wire/format.h"

namespace weft::netem {
namespace {

// More than a window can hold at any rate and RTT Weft is made for (2^20 packets of 1 KiB are 86 ms at
// 100 Gbit/s), and far less than the 2^23 within which PSNs compare.
constexpr std::int32_t kEpochPackets = 1 << 20;

// Enough for every queue pair of a lab; a WAN that sees more forgets all, and calls resends of that moment
// first transmissions.
constexpr std::size_t kMaxFlows = 65536;

}  // namespace

std::string_view name_of(PacketKind kind) {
  switch (kind) {
    case PacketKind::kSource:
      return "source";
    case PacketKind::kRetransmit:
      return "retransmit";
    case PacketKind::kRepair:
      return "repair";
    case PacketKind::kControl:
      return "control";
    case PacketKind::kOther:
      return "other";
  }
  return "unknown";
}

Classified Classifier::classify(ByteView frame, const IpFrame& ip) {
  Classified result;
  const IpFrame::Udp udp = ip.udp(frame);
  if (udp.destination_port == weft_port_) {
    if (const auto type = wire::looks_like_weft(udp.payload)) {
      result.kind = *type == wire::PacketType::kRepair ? PacketKind::kRepair : PacketKind::kControl;
    }
    return result;
  }
  if (udp.destination_port != roce::kRoceUdpPort) return result;
  const auto view = roce::PacketView::parse(frame);
  if (!view) return result;
  result.source = Classified::Source{
      .flow = view->flow_key(), .psn = view->psn(), .icrc = view->icrc_found(), .op = view->op().name};
  const roce::OpcodeInfo& op = view->op();
  const bool is_acknowledgement = op.is_response() && op.operation != roce::Operation::kReadResponse;
  result.kind = PacketKind::kSource;
  if (is_acknowledgement || op.transport == roce::Transport::kNone) return result;
  if (sent_before(result.source->flow, result.source->psn)) {
    result.kind = PacketKind::kRetransmit;
  } else {
    result.stream = Stream::kData;
  }
  return result;
}

bool Classifier::sent_before(const roce::FlowKey& flow, roce::Psn psn) {
  if (newest_.size() == kMaxFlows && !newest_.contains(flow)) newest_.clear();
  const auto [entry, is_new] = newest_.try_emplace(flow, psn);
  if (is_new) return false;
  const std::int32_t ahead = roce::psn_distance(entry->second, psn);
  if (ahead <= 0 && -ahead < kEpochPackets) return true;
  entry->second = psn;
  return false;
}

}  // namespace weft::netem
