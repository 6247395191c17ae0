#include "agent/daemon/repair.h"

#include <utility>

#include "agent/wire/secrets.h"

namespace weft::daemon {

Result<recovery::EngineConfig> engine_config(const control::Config& config) {
  recovery::EngineConfig engine;
  engine.policy = config.policy.classes;
  engine.udp_port = config.udp_port;
  engine.wan_mtu_bytes = static_cast<std::uint16_t>(config.wan_mtu_bytes);
  engine.restorer.flows = config.caps.flows;
  engine.restorer.endpoint_timeout = config.caps.endpoint_timeout;
  // Held and kept frames share the hold bytes: a packet held behind a gap is usually kept for decoding, too.
  constexpr std::size_t kChunkBytes = 4096;
  engine.restorer.held_frames = config.caps.hold_bytes / kChunkBytes / 2;
  engine.restorer.kept_frames = engine.restorer.held_frames;
  engine.encoder.max_flows = config.caps.flows;
  for (const control::PeerConfig& peer : config.peers) {
    auto psk = wire::read_key_file(peer.key_file);
    if (!psk) return fail(psk.error());
    auto boot_id = wire::fresh_boot_id();
    if (!boot_id) return fail(boot_id.error());
    engine.peers.push_back(
        {.name = peer.name, .prefixes = peer.prefixes, .psk = *psk, .own_boot_id = *boot_id});
  }
  return engine;
}

RepairProcessor::RepairProcessor(recovery::EngineConfig config, recovery::FrameIo& io, const Doorbell& bell)
    : io_(io), bell_(bell), engine_(std::make_unique<recovery::Engine>(std::move(config), io, fills_)) {}

void RepairProcessor::receive(const dataplane::Arrival& arrival, recovery::Time now) {
  engine_->receive(arrival.port, arrival.frame, arrival.tag, now);
  // The other agent's packets are what brings news, besides ticks.
  if (arrival.reason == WEFT_REASON_WEFT) tell_control();
}

void RepairProcessor::tick(recovery::Time now) {
  engine_->tick(now);
  tell_control();
}

void RepairProcessor::tell_control() {
  if (rung_ || !engine_->has_news()) return;
  bell_.ring();
  rung_ = true;
}

RepairProcessor::News RepairProcessor::take_news() {
  rung_ = false;
  return {.flows = engine_->take_flow_notices(), .peers = engine_->take_peer_changes()};
}

std::optional<recovery::Time> RepairProcessor::next_deadline(recovery::Time now) const {
  const recovery::Time deadline = engine_->next_deadline(now);
  if (deadline == recovery::Time::max()) return std::nullopt;
  return deadline;
}

void RepairProcessor::reset(recovery::Time now) { engine_->resume_after_stall(now); }

void RepairProcessor::replace(recovery::EngineConfig config) {
  engine_->release_all();
  for (const auto& peer : engine_->status()) {
    Retired& retired = retired_[std::string(peer.name)];
    retired.counters.add(*peer.counters);
    retired.recovery_latency.add(*peer.recovery_latency);
  }
  retired_strays_.add(engine_->stray_counters());
  engine_ = std::make_unique<recovery::Engine>(std::move(config), io_, fills_);
}

RepairProcessor::Report RepairProcessor::report() const {
  Report all{.peers = {}, .strays = retired_strays_};
  all.strays.add(engine_->stray_counters());
  for (const auto& peer : engine_->status()) {
    PeerReport report{.name = std::string(peer.name),
                      .ready = peer.ready,
                      .rtt = peer.rtt,
                      .terms = peer.terms,
                      .measured_loss = peer.measured_loss,
                      .strengths = peer.strengths,
                      .sending_flows = peer.sending_flows,
                      .receiving_flows = peer.receiving_flows,
                      .held_frames = peer.held_frames,
                      .kept_frames = peer.kept_frames,
                      .counters = *peer.counters,
                      .recovery_latency = *peer.recovery_latency};
    if (const auto before = retired_.find(report.name); before != retired_.end()) {
      report.counters.add(before->second.counters);
      report.recovery_latency.add(before->second.recovery_latency);
    }
    all.peers.push_back(std::move(report));
  }
  return all;
}

}  // namespace weft::daemon
