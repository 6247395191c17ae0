// testbed/sim: two sites and the WAN between them in virtual time. The endpoints, the engine and the link model are the
// same code that runs in weft-roce, weftd and weft-wan; only the clock and the wires are made up.
//
//   rc::Host A ──lan──▶ gateway A (Engine or bare bridge) ══netem::Link══▶ gateway B ──lan──▶ rc::Host B
//              ◀──────                                    ◀═══════════════           ◀──────
//
// A lan may have several hosts; each takes what is addressed to it.
// The lans take no time and lose nothing unless a tap says so. A gateway without an agent, and packets an agent does
// not take, pass like through a bridge. Deterministic: the same configuration gives the same run. Single-threaded.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "agent/recovery/engine.h"
#include "agent/recovery/fill_log.h"
#include "netem/link.h"
#include "netem/packet_kind.h"
#include "testbed/rc/host.h"
#include "testbed/sim/frame_pool.h"

namespace weft::sim {

using recovery::Time;

enum class Side : std::uint8_t { kA, kB };
inline constexpr std::array kSides{Side::kA, Side::kB};
constexpr Side other(Side side) { return side == Side::kA ? Side::kB : Side::kA; }
constexpr std::size_t index(Side side) { return static_cast<std::size_t>(side); }

// Where a frame is when a tap sees it.
enum class Place : std::uint8_t {
  kFromHost,  // between a host and its gateway's lan port
  kToHost,    // between the gateway's lan port and its host
  kIntoWan,   // leaving a gateway's wan port
  kOutOfWan,  // arriving at a gateway's wan port
};

struct SitesConfig {
  netem::WanProfile wan;
  std::uint64_t endpoint_rate_bits = 200'000'000;  // of each host
  std::size_t hosts = 1;                           // at each site
  // Each side's agent; nullopt: the gateway is a bridge.
  std::array<std::optional<recovery::EngineConfig>, 2> agents;
  // What the classifier of a real gateway reads from the frame; nullopt: not ours.
  std::array<std::optional<recovery::Tag>, 64> tag_by_dscp{};
  std::optional<recovery::Tag> response_tag;  // ACK, NAK, READ data
  std::size_t pool_frames = 1U << 16;
};

struct WanCounts {
  std::array<std::uint64_t, netem::kPacketKinds> packets{};
  std::array<std::uint64_t, netem::kPacketKinds> ip_bytes{};
  std::array<std::uint64_t, netem::kPacketKinds> lost{};
  std::uint64_t tail_drops = 0;
};

// A source packet the WAN lost, by the name the engine knows it by.
struct LostSource {
  roce::FlowKey flow;
  roce::Psn psn;
  std::uint32_t icrc = 0;
};

class TwoSites {
 public:
  explicit TwoSites(const SitesConfig& config);
  ~TwoSites();

  rc::Host& host(Side side, std::size_t number = 0) { return *site(side).hosts[number]; }
  recovery::Engine* engine(Side side) { return site(side).engine.get(); }
  FramePool& pool(Side side) { return site(side).pool; }
  // What the agent of this side has filled and reported.
  recovery::FillLog& fills(Side side) { return site(side).fills; }

  // What a tap does to a frame: it may change the bytes; false drops it. Extra copies are delivered after it.
  struct Tapped {
    Bytes frame;
    std::vector<Bytes> copies;
    Time extra_delay{0};  // kIntoWan only
  };
  std::function<bool(Place place, Side side, Tapped& tapped)> tap;
  // Called after every step with each host's events.
  std::function<void(Side side, std::size_t host, const rc::Events& events)> on_events;

  // Ends the agent as a crash does: frames it held are lost with it. `agent` replaces it when given.
  void replace_agent(Side side, std::optional<recovery::EngineConfig> agent);
  // While stopped (SIGSTOP) the bridge forwards; the agent wakes up with what it had.
  void stop_agent(Side side);
  void continue_agent(Side side);

  // A frame from nowhere: an attacker's, or a recorded one.
  void inject_into_wan(Side from, ByteView frame);

  Time now() const { return now_; }
  // Runs until `until`, or until nothing is in flight and no host waits for anything.
  void run_until(Time until);
  // Something was posted to a host: it is looked at on the next step.
  void wake(Side side) { site(side).idle = false; }

  const WanCounts& wan(netem::Direction from_side) const {
    return links_[static_cast<std::size_t>(from_side)].counts;
  }
  const std::vector<LostSource>& lost_sources() const { return lost_sources_; }

 private:
  static constexpr std::size_t kMaxUnreadFills = 1U << 20;  // a test or a run reads them at its end

  struct Site {
    explicit Site(std::size_t pool_frames) : pool(pool_frames) {}
    std::vector<std::unique_ptr<rc::Host>> hosts;
    FramePool pool;
    recovery::FillLog fills{kMaxUnreadFills};
    std::optional<recovery::EngineConfig> agent;
    std::unique_ptr<recovery::Engine> engine;
    bool stopped = false;
    bool idle = true;  // nothing to send until something happens
  };
  struct WanLink {
    netem::Link link;
    netem::Classifier classifier;
    WanCounts counts;
  };
  struct Delivery {
    Time at;
    std::uint64_t order;
    Side to;
    Bytes frame;
    bool operator<(const Delivery& o) const { return at != o.at ? at > o.at : order > o.order; }
  };

  Site& site(Side side) { return *sites_[index(side)]; }
  WanLink& link_from(Side side) { return links_[index(side)]; }
  void start_agent(Side side);
  bool agent_takes(const Site& site, ByteView frame) const;
  std::optional<recovery::Tag> tag_of(ByteView frame) const;
  void gateway_receive(Side side, recovery::Port ingress, ByteView frame);
  void gateway_send(Side side, recovery::Port port, ByteView frame);
  void enter_wan(Side from, Bytes frame, Time extra_delay);
  void deliver_to_host(Side side, ByteView frame);
  void pump_hosts(Side side);
  Time next_time();

  const SitesConfig config_;
  std::array<std::unique_ptr<Site>, 2> sites_;
  std::vector<WanLink> links_;  // by sending side
  std::priority_queue<Delivery> in_flight_;
  std::vector<LostSource> lost_sources_;
  Bytes frame_buffer_;
  Time now_{0};
  std::uint64_t deliveries_ = 0;
};

}  // namespace weft::sim
