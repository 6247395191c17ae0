// Sends Weft packets to one peer: along the data's path, sealed, counted, and within what the peer may be
// sent (P9). Everything Weft adds to the WAN passes here, so the bounds cannot be got around.
//
//   repairs, manifests, announcements   a share of the source bytes sent to the peer
//   hello, feedback, ACK copies         a share of those received from it, and a little by time
//
// Bytes are counted at IP level, source and Weft packets alike.
#pragma once

#include <algorithm>
#include <cstdint>

#include "agent/recovery/engine_io.h"
#include "agent/recovery/events.h"
#include "agent/recovery/path_headers.h"
#include "agent/recovery/token_bucket.h"
#include "agent/wire/format.h"
#include "agent/wire/messages.h"
#include "agent/wire/peer_session.h"
#include "agent/wire/repair_list.h"

namespace weft::recovery {

enum class SendResult : std::uint8_t {
  kSent,
  kNoPath,    // no data frame has gone to the peer yet, so there is no path to follow
  kNoKey,     // the session has not adopted the peer
  kNoBudget,  // the bucket is empty
  kNoFrame,   // the driver's pool is at its low-water mark
};

class WeftSender {
 public:
  struct Config {
    std::uint16_t udp_port = wire::kDefaultUdpPort;
    std::uint16_t wan_mtu_bytes = 1500;
    double max_overhead = 0.25;
  };

  // All referenced objects outlive the sender.
  WeftSender(FrameIo& io, Counters& counters, wire::PeerSession& session, const Config& config);

  // True once packets other than hello may be sent: the hello is complete and the peer is not silent.
  bool ready() const { return session_.ready(); }
  // What a body may have on the WAN whatever the IP version.
  std::size_t max_body_bytes() const { return wire::max_body_bytes(wan_mtu_bytes_, true); }

  // From the next packet on.
  void set_wan_mtu(std::uint16_t bytes) { wan_mtu_bytes_ = bytes; }

  // Every packet towards the peer, coded or not: it earns overhead and shows the path.
  void note_source_sent(std::size_t ip_bytes, const PathHeaders& path) {
    overhead_.earn(ip_bytes);
    path_ = path;
  }
  // Every source packet that came from the peer.
  void note_source_received(std::size_t ip_bytes) { control_.earn(ip_bytes); }

  std::size_t wan_mtu_bytes() const { return wan_mtu_bytes_; }

  // What may be spent on repairs, manifests and announcements now, in bytes at IP level.
  std::size_t repair_budget_bytes() const {
    return static_cast<std::size_t>(std::max(overhead_.available_bytes(), 0.0));
  }

  // Sends one packet whose body of exactly `body_bytes` is written by `write(MutableByteView)`. What cannot be
  // sent is counted by cause and forgotten.
  template <class Write>
  SendResult send(wire::PacketType type, ClassId class_id, const PathHeaders& path, std::size_t body_bytes,
                  Time now, Write&& write) {
    FrameId frame;
    const SendResult result = begin(type, class_id, path, body_bytes, now, frame);
    if (result != SendResult::kSent) return result;
    const MutableByteView bytes = io_.writable_bytes(frame);
    write(bytes.subspan(path.frame_header_bytes() + wire::kHeaderBytes, body_bytes));
    return finish(type, class_id, path, bytes, frame);
  }

  // A message value.
  template <class Message>
  SendResult send(wire::PacketType type, ClassId class_id, const PathHeaders& path, const Message& message,
                  Time now) {
    return send(type, class_id, path, wire::body_bytes(message), now,
                [&](MutableByteView body) { wire::encode(message, body); });
  }

  // The same along the newest path.
  template <class Message>
  SendResult send(wire::PacketType type, ClassId class_id, const Message& message, Time now) {
    return send(type, class_id, path_, message, now);
  }

 private:
  SendResult begin(wire::PacketType type, ClassId class_id, const PathHeaders& path, std::size_t body_bytes,
                   Time now, FrameId& frame);
  SendResult finish(wire::PacketType type, ClassId class_id, const PathHeaders& path, MutableByteView bytes,
                    FrameId frame);

  FrameIo& io_;
  Counters& counters_;
  wire::PeerSession& session_;
  std::uint16_t udp_port_;
  std::uint16_t wan_mtu_bytes_;
  std::uint16_t next_ip_id_ = 0;
  TokenBucket overhead_;
  TokenBucket control_;
  PathHeaders path_;
};

}  // namespace weft::recovery
