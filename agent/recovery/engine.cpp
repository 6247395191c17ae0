#include "agent/recovery/engine.h"

#include <algorithm>
#include <utility>

#include "agent/recovery/path_index.h"

namespace weft::recovery {
namespace {

wire::SessionConfig session_config(const EngineConfig& config, const PeerConfig& peer) {
  std::vector<std::string_view> class_names;
  class_names.reserve(config.policy.classes.size());
  for (const ClassPolicy& policy : config.policy.classes)
    class_names.emplace_back(policy.name);
  return {.psk = peer.psk,
          .own_boot_id = peer.own_boot_id,
          .lane = config.lane,
          .lane_count = config.lane_count,
          .classes_digest = wire::class_names_digest(class_names),
          .capabilities = wire::kCapabilityReedSolomon | wire::kCapabilityXor,
          .mtu_bytes = config.wan_mtu_bytes};
}

Event event_of(wire::Refusal refusal) {
  switch (refusal) {
    case wire::Refusal::kBadTag:
      return Event::kWeftBadTag;
    case wire::Refusal::kReplayed:
      return Event::kWeftReplayed;
    case wire::Refusal::kUnknownSender:
    case wire::Refusal::kTooManyHellos:
      return Event::kWeftUnknownSender;
    case wire::Refusal::kNotReady:
      return Event::kWeftNotReady;
    case wire::Refusal::kOtherVersion:
      return Event::kWeftOtherVersion;
    default:
      return Event::kWeftMalformed;
  }
}

// A log that nobody reads is no use to keep.
constexpr std::size_t kMostPeerChanges = 256;

// Both directions serve the same endpoints.
EncoderLimits encoder_limits(const EngineConfig& engine) {
  EncoderLimits limits = engine.encoder;
  limits.endpoint_timeout = engine.restorer.endpoint_timeout;
  return limits;
}

}  // namespace

// Everything about one peer. The order of members is the order of dependence.
struct Engine::Peer {
  Peer(const EngineConfig& engine, const PeerConfig& peer, FrameIo& io, FillSink& fill_sink)
      : config(peer),
        session(session_config(engine, peer)),
        sender(io, counters, session,
               {.udp_port = engine.udp_port,
                .wan_mtu_bytes = engine.wan_mtu_bytes,
                .max_overhead = engine.policy.fec.max_overhead}),
        encoder(io, engine.policy, sender, counters, encoder_limits(engine)),
        incoming(engine.policy),
        restorer(io, incoming, engine.restorer, counters, fill_sink) {}

  // After its hello, before anything else of it is accepted.
  void agree(const EngineConfig& engine) {
    terms = terms_with(*session.peer_hello(), session.same_classes(), engine.wan_mtu_bytes,
                       engine.policy.fec.code);
    encoder.agree(*terms);
    incoming = terms->same_classes ? engine.policy : engine.policy.held_to_exact();
  }

  const PeerConfig& config;
  Counters counters;
  wire::PeerSession session;
  std::optional<Time> session_ran_at;
  WeftSender sender;
  Encoder encoder;
  PolicyTable incoming;  // what is done with what comes from it
  Restorer restorer;
  PathIndex incoming_paths;
  std::optional<PeerTerms> terms;
};

Engine::Engine(EngineConfig config, FrameIo& io, FillSink& fill_sink) : config_(std::move(config)), io_(io) {
  for (const PeerConfig& peer : config_.peers) {
    peers_.push_back(std::make_unique<Peer>(config_, peer, io_, fill_sink));
  }
}

Engine::~Engine() = default;

Engine::Peer* Engine::find_peer(const roce::IpAddress& address) const {
  Peer* best = nullptr;
  unsigned longest_bits = 0;
  for (const auto& peer : peers_) {
    for (const roce::IpPrefix& prefix : peer->config.prefixes) {
      if (prefix.contains(address) && (best == nullptr || prefix.length_bits > longest_bits)) {
        best = peer.get();
        longest_bits = prefix.length_bits;
      }
    }
  }
  return best;
}

void Engine::receive(Port ingress, FrameId frame, Tag tag, Time now) {
  const ByteView bytes = io_.bytes(frame);
  if (const auto view = roce::PacketView::parse(bytes); view && view->complete()) {
    if (ingress == Port::kLan) return from_lan(frame, *view, tag, now);
    return from_wan(frame, *view, now);
  }
  if (ingress == Port::kWan) {
    const auto datagram = roce::UdpDatagram::parse(bytes);
    if (datagram && datagram->destination_port == config_.udp_port && wire::has_magic(datagram->payload)) {
      weft_from_wan(bytes, *datagram, now);
      return io_.release(frame);
    }
  }
  strays_.add(Event::kPassedNotOurs, kClassExact);
  io_.send(opposite(ingress), frame);
}

void Engine::from_lan(FrameId frame, const roce::PacketView& view, Tag tag, Time now) {
  Peer* peer = find_peer(view.dst_address());
  if (peer == nullptr) {
    strays_.add(Event::kPassedNotOurs, kClassExact);
    return io_.send(Port::kWan, frame);
  }
  peer->session.on_data(now);
  peer->restorer.on_lan_packet(view, now);
  peer->encoder.on_source(frame, view, tag, now);
  // The packets of a batch share their time: what the session is due was done with the first of them.
  if (peer->session_ran_at != now) run_session(*peer, now);
}

void Engine::from_wan(FrameId frame, const roce::PacketView& view, Time now) {
  Peer* peer = find_peer(view.src_address());
  if (peer == nullptr) {
    strays_.add(Event::kPassedNotOurs, kClassExact);
    return io_.send(Port::kLan, frame);
  }
  peer->session.on_data(now);
  peer->sender.note_source_received(view.ip_packet_bytes());
  if (!peer->session.ready()) {
    peer->counters.add(Event::kPassedNoPeer, kClassExact);
    return peer->restorer.on_passed(frame, view, now);
  }
  peer->restorer.on_source(frame, view, now);
}

void Engine::weft_from_wan(ByteView frame, const roce::UdpDatagram& datagram, Time now) {
  Peer* peer = find_peer(datagram.src);
  if (peer == nullptr) return strays_.add(Event::kWeftUnknownPeer, kClassExact);
  const auto opened = peer->session.open(datagram.payload, now);
  // Silence that this packet has ended is acted upon before the packet is.
  handle_events(*peer, now);
  if (opened) {
    dispatch(*peer, *opened, frame, datagram, now);
  } else {
    peer->counters.add(event_of(opened.error()), kClassExact);
  }
  run_session(*peer, now);
}

void Engine::dispatch(Peer& peer, const wire::Opened& opened, ByteView frame,
                      const roce::UdpDatagram& datagram, Time now) {
  // Hands a decoded body on, or counts that it made no sense although it was authentic.
  const auto use = [&](auto body, auto&& handler) {
    if (body) {
      handler(*body);
    } else {
      peer.counters.add(Event::kWeftMalformed, kClassExact);
    }
  };
  switch (opened.header.type) {
    case wire::PacketType::kHello:
      return;  // the session has dealt with it
    case wire::PacketType::kFeedback:
      if (const auto rtt = peer.session.rtt())
        peer.restorer.set_rtt(*rtt, peer.session.least_rtt().value_or(*rtt));
      if (opened.feedback) peer.encoder.on_feedback(*opened.feedback, peer.session.rtt());
      return;
    case wire::PacketType::kAnnouncement:
      return use(wire::decode_announcement(opened.body),
                 [&](auto& body) { on_announcement(peer, std::move(body), datagram.vlans, now); });
    case wire::PacketType::kManifest:
      return use(wire::decode_manifest(opened.body), [&](auto& body) {
        body.stream.path = peer.incoming_paths.of(datagram.vlans);
        peer.restorer.on_manifest(body, now);
      });
    case wire::PacketType::kRepair:
      return use(wire::decode_repair(opened.body), [&](auto& body) {
        body.stream.path = peer.incoming_paths.of(datagram.vlans);
        peer.restorer.on_repair(body, now);
      });
    case wire::PacketType::kAckCopy:
      return use(wire::decode_ack_copy(opened.body), [&](const auto& body) {
        peer.restorer.on_ack_copy(body, PathHeaders(frame, datagram), now);
      });
  }
}

// A peer speaks for its own side's flows only: another's would be taken by the wrong name and class.
void Engine::on_announcement(Peer& peer, wire::Announcement announcement, const roce::VlanStack& vlans,
                             Time now) {
  const std::size_t foreign =
      std::erase_if(announcement.flows, [&](const auto& flow) { return find_peer(flow.key.src) != &peer; });
  if (foreign > 0) peer.counters.add(Event::kAnnouncementForeign, kClassExact, foreign);
  const std::uint8_t path = peer.incoming_paths.of(vlans);
  for (wire::Announcement::Flow& flow : announcement.flows)
    flow.stream.path = path;
  peer.restorer.on_announcement(announcement, vlans, now);
}

void Engine::handle_events(Peer& peer, Time now) {
  while (const auto event = peer.session.next_event()) {
    switch (*event) {
      case wire::PeerEvent::kUp:
        peer.counters.add(Event::kPeerUp, kClassExact);
        peer.agree(config_);
        break;
      case wire::PeerEvent::kDown:
        peer.counters.add(Event::kPeerDown, kClassExact);
        peer.encoder.reset();
        peer.restorer.peer_lost();
        break;
      case wire::PeerEvent::kRestarted:
        peer.counters.add(Event::kPeerRestarted, kClassExact);
        peer.encoder.reset();
        peer.restorer.peer_restarted(now);
        break;
    }
    note_change(peer, *event);
  }
}

void Engine::note_change(const Peer& peer, wire::PeerEvent event) {
  if (changes_.size() == kMostPeerChanges) return;
  changes_.push_back({.peer = peer.config.name, .event = event, .terms = peer.terms.value_or(PeerTerms())});
}

void Engine::run_session(Peer& peer, Time now) {
  peer.session_ran_at = now;
  peer.session.tick(now);
  handle_events(peer, now);
  if (peer.session.hello_due(now)) {
    peer.sender.send(wire::PacketType::kHello, kClassExact, peer.session.next_hello(now), now);
  }
  if (peer.session.feedback_due(now)) {
    wire::Feedback feedback = peer.session.next_feedback(now);
    peer.restorer.fill_feedback(feedback, now);
    peer.sender.send(wire::PacketType::kFeedback, kClassExact, feedback, now);
  }
}

void Engine::tick(Time now) {
  for (const auto& peer : peers_) {
    run_session(*peer, now);
    peer->encoder.tick(now);
    peer->restorer.tick(now);
  }
}

Time Engine::next_deadline(Time now) const {
  Time earliest = Time::max();
  for (const auto& peer : peers_) {
    earliest = std::min({earliest, peer->session.next_deadline(now),
                         peer->encoder.next_deadline().value_or(Time::max()),
                         peer->restorer.next_deadline().value_or(Time::max())});
  }
  return earliest;
}

void Engine::release_all() {
  for (const auto& peer : peers_) {
    peer->encoder.reset();
    peer->restorer.peer_lost();
  }
}

void Engine::resume_after_stall(Time now) {
  for (const auto& peer : peers_) {
    peer->encoder.reset();
    peer->restorer.drop_stale();
    run_session(*peer, now);
  }
}

std::vector<Engine::PeerStatus> Engine::status() const {
  std::vector<PeerStatus> all;
  all.reserve(peers_.size());
  for (const auto& peer : peers_) {
    all.push_back({.name = peer->config.name,
                   .ready = peer->session.ready(),
                   .rtt = peer->session.rtt(),
                   .terms = peer->terms,
                   .measured_loss = peer->encoder.measured_loss(),
                   .strengths = peer->encoder.strengths(),
                   .sending_flows = peer->encoder.flows(),
                   .receiving_flows = peer->restorer.flows(),
                   .held_frames = peer->restorer.held_frames(),
                   .kept_frames = peer->restorer.kept_frames(),
                   .counters = &peer->counters,
                   .recovery_latency = &peer->restorer.recovery_latency()});
  }
  return all;
}

bool Engine::has_news() const {
  return !changes_.empty() ||
         std::ranges::any_of(peers_, [](const auto& peer) { return !peer->restorer.flow_notices().empty(); });
}

std::vector<FlowNotice> Engine::take_flow_notices() {
  std::vector<FlowNotice> all;
  for (const auto& peer : peers_) {
    std::vector<FlowNotice> own = peer->restorer.flow_notices().take();
    if (!peer->session.same_classes()) {
      for (FlowNotice& notice : own)
        notice.stream = {.class_id = kClassExact, .level = 0};
    }
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

void Engine::list_flows(NewestFlows& out) const {
  for (const auto& peer : peers_) {
    peer->encoder.list_flows(peer->config.name, out);
    peer->restorer.list_flows(peer->config.name, peer->session.same_classes(), out);
  }
}

}  // namespace weft::recovery
