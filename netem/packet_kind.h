// What a packet on the WAN is for: the kinds in which every report counts WAN bytes and losses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "agent/base/bytes.h"
#include "agent/roce/flow_key.h"
#include "agent/roce/psn.h"
#include "netem/ip_frame.h"
#include "netem/loss.h"

namespace weft::netem {

enum class PacketKind : std::uint8_t {
  kSource,      // RoCE, sent for the first time; ACKs and NAKs always
  kRetransmit,  // RoCE request or READ data whose PSN its flow has used before
  kRepair,      // Weft FEC symbols and their lists
  kControl,     // every other Weft packet
  kOther,       // ARP, ping, TCP...
};
inline constexpr std::size_t kPacketKinds = 5;
inline constexpr std::array kAllPacketKinds{PacketKind::kSource, PacketKind::kRetransmit, PacketKind::kRepair,
                                            PacketKind::kControl, PacketKind::kOther};

std::string_view name_of(PacketKind kind);  // "source"

struct Classified {
  PacketKind kind = PacketKind::kOther;
  Stream stream = Stream::kRest;
  // The source packet's name, for RoCE packets.
  struct Source {
    roce::FlowKey flow;
    roce::Psn psn;
    std::uint32_t icrc = 0;
    std::string_view op;
  };
  std::optional<Source> source;
};

// Remembers the newest PSN of each flow, nothing else: what is at or behind it was sent before. A PSN further
// away than kEpochPackets in either direction is a queue pair used again, and starts the flow anew. A queue
// pair used again nearer than that counts as retransmitting until it has passed its old place.
class Classifier {
 public:
  explicit Classifier(std::uint16_t weft_port) : weft_port_(weft_port) {}

  Classified classify(ByteView frame, const IpFrame& ip);

 private:
  bool sent_before(const roce::FlowKey& flow, roce::Psn psn);

  std::uint16_t weft_port_;
  std::unordered_map<roce::FlowKey, roce::Psn> newest_;
};

}  // namespace weft::netem
