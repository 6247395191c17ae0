// The recovery engine as a worker's processor, and what the control thread may ask of it while it runs.
//
// Everything here but the constructor runs on the worker's thread; the control thread reaches it through
// Worker::run_inside().
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/control/config.h"
#include "agent/daemon/doorbell.h"
#include "agent/dataplane/processor.h"
#include "agent/recovery/engine.h"
#include "agent/recovery/fill_log.h"

namespace weft::daemon {

// The engine's configuration: keys are read from their files and boot ids drawn, so this may fail.
Result<recovery::EngineConfig> engine_config(const control::Config& config);

class RepairProcessor final : public dataplane::Processor {
 public:
  // `bell`, which outlives the processor, is rung when there is news to take.
  RepairProcessor(recovery::EngineConfig config, recovery::FrameIo& io, const Doorbell& bell);

  void receive(const dataplane::Arrival& arrival, recovery::Time now) override;
  void tick(recovery::Time now) override;
  std::optional<recovery::Time> next_deadline(recovery::Time now) const override;
  void reset(recovery::Time now) override;
  void release_all() override { engine_->release_all(); }

  // Goes on with another configuration. What is held goes out first, so nothing is lost; sessions begin anew, so for a
  // round trip or two nothing is protected.
  void replace(recovery::EngineConfig config);

  struct PeerReport {
    std::string name;
    bool ready = false;
    std::optional<recovery::Time> rtt;
    std::optional<recovery::PeerTerms> terms;
    wire::LossCounts measured_loss;
    std::vector<recovery::CodingPlanner::StreamStrength> strengths;
    std::size_t sending_flows = 0;
    std::size_t receiving_flows = 0;
    std::size_t held_frames = 0;
    std::size_t kept_frames = 0;
    // Since the agent started, whatever was reloaded.
    recovery::Counters counters;
    DurationHistogram recovery_latency;
  };
  struct Report {
    std::vector<PeerReport> peers;
    recovery::Counters strays;  // frames of no peer, since the agent started
  };
  Report report() const;
  void list_flows(recovery::NewestFlows& out) const { engine_->list_flows(out); }

  struct News {
    std::vector<recovery::FlowNotice> flows;
    std::vector<recovery::PeerChange> peers;
  };
  News take_news();
  // Fills reported since the last call.
  recovery::FillLog::Taken take_fills() { return fills_.take(); }

 private:
  // A second of fills at 100 Gbit/s and a budget of 1e-2.
  static constexpr std::size_t kMaxUnreadFills = 1U << 17;

  void tell_control();

  recovery::FrameIo& io_;
  const Doorbell& bell_;
  bool rung_ = false;
  recovery::FillLog fills_{kMaxUnreadFills};
  std::unique_ptr<recovery::Engine> engine_;
  struct Retired {
    recovery::Counters counters;
    DurationHistogram recovery_latency;
  };
  // Of engines before this one.
  std::map<std::string, Retired> retired_;  // by peer
  recovery::Counters retired_strays_;
};

}  // namespace weft::daemon
