// agent/recovery: what makes lost packets good. The engine of one lane: peers, each with an encoder for what goes to
// it and a restorer for what comes from it.
//
//            lan ingress                                   wan ingress
//                │ to a peer's prefix?                          │ Weft port and magic?
//      restorer.on_lan_packet (rewinds, pairing)        session.open ──▶ feedback ──▶ encoder
//                ▼                                              │        repair, manifest, ... ──▶ restorer
//      encoder.on_source ──▶ wan                                │ else RoCE from a peer's prefix
//                                                               ▼
//                                                       restorer.on_source ──▶ lan
//
// What belongs to no peer, or is not understood, is sent on to the opposite port unchanged, in order (P2). While a
// peer's session is not ready both directions pass the same way (P6). The engine never drops a source packet except
// one whose ICRC is wrong, which no endpoint would take.
//
// Pure and single-threaded, see engine_io.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/recovery/encoder.h"
#include "agent/recovery/engine_io.h"
#include "agent/recovery/events.h"
#include "agent/recovery/fill_record.h"
#include "agent/recovery/flow_list.h"
#include "agent/recovery/peer_terms.h"
#include "agent/recovery/policy.h"
#include "agent/recovery/restorer.h"
#include "agent/recovery/weft_sender.h"
#include "agent/roce/ip_address.h"
#include "agent/roce/udp_datagram.h"
#include "agent/roce/view.h"
#include "agent/wire/peer_session.h"

namespace weft::recovery {

struct PeerConfig {
  std::string name;
  std::vector<roce::IpPrefix> prefixes;  // of the peer's side; the longest match wins
  wire::Psk psk{};
  wire::BootId own_boot_id{};  // random, fresh at each start, another for every peer
};

struct EngineConfig {
  PolicyTable policy = PolicyTable::defaults();
  std::vector<PeerConfig> peers;
  std::uint16_t udp_port = wire::kDefaultUdpPort;
  std::uint16_t wan_mtu_bytes = 1500;
  std::uint8_t lane = 0;
  std::uint8_t lane_count = 1;
  RestorerLimits restorer;
  EncoderLimits encoder;
};

// What happened to a session, for a log.
struct PeerChange {
  std::string peer;
  wire::PeerEvent event = wire::PeerEvent::kUp;
  PeerTerms terms;  // of kUp
};

class Engine {
 public:
  // `io` and `fill_sink` outlive the engine.
  Engine(EngineConfig config, FrameIo& io, FillSink& fill_sink);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // A frame from a port, with one reference to spend. `tag` is the classifier's verdict for frames from the lan; for
  // frames from the wan it is not looked at. Time never runs backwards.
  void receive(Port ingress, FrameId frame, Tag tag, Time now);

  // Runs what is due: holds, group timers, hello, feedback. Call at least at next_deadline().
  void tick(Time now);
  Time next_deadline(Time now) const;  // Time::max() when nothing waits

  // Stop protecting, in order: what is held goes out, every session is forgotten until traffic asks for it again.
  void release_all();
  // The process slept (SIGSTOP, a stalled worker) while the bridge carried the traffic: held frames are stale.
  void resume_after_stall(Time now);

  // A peer as the status command shows it.
  struct PeerStatus {
    std::string_view name;
    bool ready = false;
    std::optional<Time> rtt;
    std::optional<PeerTerms> terms;  // nullopt: it has never been heard of
    wire::LossCounts measured_loss;  // of what we send to it, as it last reported
    std::vector<CodingPlanner::StreamStrength> strengths;
    std::size_t sending_flows = 0;
    std::size_t receiving_flows = 0;
    std::size_t held_frames = 0;
    std::size_t kept_frames = 0;
    const Counters* counters = nullptr;
    const DurationHistogram* recovery_latency = nullptr;
  };
  std::vector<PeerStatus> status() const;
  // What waits to be taken, soon after any call, in order: what the classifier of frames from the WAN must learn, and the
  // changes of sessions, of which the newest are left out when nobody takes them.
  bool has_news() const;
  std::vector<FlowNotice> take_flow_notices();
  std::vector<PeerChange> take_peer_changes() { return std::exchange(changes_, {}); }
  // Looks at every flow of both directions: some milliseconds when the tables are full.
  void list_flows(NewestFlows& out) const;
  // Of frames that belong to no peer.
  const Counters& stray_counters() const { return strays_; }
  const PolicyTable& policy() const { return config_.policy; }

 private:
  struct Peer;

  Peer* find_peer(const roce::IpAddress& address) const;
  void from_lan(FrameId frame, const roce::PacketView& view, Tag tag, Time now);
  void from_wan(FrameId frame, const roce::PacketView& view, Time now);
  void weft_from_wan(ByteView frame, const roce::UdpDatagram& datagram, Time now);
  void dispatch(Peer& peer, const wire::Opened& opened, ByteView frame, const roce::UdpDatagram& datagram,
                Time now);
  void on_announcement(Peer& peer, wire::Announcement announcement, const roce::VlanStack& vlans, Time now);
  void handle_events(Peer& peer, Time now);
  void note_change(const Peer& peer, wire::PeerEvent event);
  void run_session(Peer& peer, Time now);

  const EngineConfig config_;
  FrameIo& io_;
  std::vector<std::unique_ptr<Peer>> peers_;
  Counters strays_;
  std::vector<PeerChange> changes_;
};

}  // namespace weft::recovery
