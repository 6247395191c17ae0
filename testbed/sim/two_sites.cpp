#include "testbed/sim/two_sites.h"

#include <algorithm>
#include <utility>

#include "agent/roce/udp_datagram.h"
#include "agent/roce/view.h"
#include "agent/wire/format.h"
#include "netem/ip_frame.h"

namespace weft::sim {

using recovery::Port;

namespace {

// A host never sends faster than its pacer; what it missed is nothing, since virtual time is never late.
constexpr Time kNoCatchUp{0};

}  // namespace

TwoSites::TwoSites(const SitesConfig& config) : config_(config), frame_buffer_(rc::Host::kLargestFrameBytes) {
  for (const Side side : kSides) {
    auto made = std::make_unique<Site>(config.pool_frames);
    for (std::size_t i = 0; i < config.hosts; ++i)
      made->hosts.push_back(std::make_unique<rc::Host>(rc::Pacer(config.endpoint_rate_bits, kNoCatchUp)));
    made->agent = config.agents[index(side)];
    sites_[index(side)] = std::move(made);
    const auto direction = static_cast<netem::Direction>(side);
    const std::uint16_t weft_port =
        config.agents[index(side)] ? config.agents[index(side)]->udp_port : wire::kDefaultUdpPort;
    links_.push_back({netem::Link(config.wan.schedules[index(side)], config.wan.seed, direction),
                      netem::Classifier(weft_port),
                      {}});
    site(side).pool.set_sink(
        [this, side](Port port, recovery::FrameId, ByteView frame) { gateway_send(side, port, frame); });
    start_agent(side);
  }
}

TwoSites::~TwoSites() = default;

void TwoSites::start_agent(Side side) {
  Site& s = site(side);
  if (s.agent) s.engine = std::make_unique<recovery::Engine>(*s.agent, s.pool, s.fills);
}

void TwoSites::replace_agent(Side side, std::optional<recovery::EngineConfig> agent) {
  Site& s = site(side);
  s.engine.reset();
  s.agent = std::move(agent);
  s.stopped = false;
  start_agent(side);
}

void TwoSites::stop_agent(Side side) { site(side).stopped = true; }

void TwoSites::continue_agent(Side side) {
  Site& s = site(side);
  s.stopped = false;
  if (s.engine) s.engine->resume_after_stall(now_);
}

std::optional<recovery::Tag> TwoSites::tag_of(ByteView frame) const {
  const auto view = roce::PacketView::parse(frame);
  if (!view) return std::nullopt;
  if (view->op().is_response()) return config_.response_tag;
  return config_.tag_by_dscp[view->dscp()];
}

bool TwoSites::agent_takes(const Site& site, ByteView frame) const {
  if (!site.engine || site.stopped) return false;
  if (tag_of(frame)) return true;
  const auto datagram = roce::UdpDatagram::parse(frame);
  return datagram && datagram->destination_port == site.agent->udp_port;
}

void TwoSites::gateway_receive(Side side, Port ingress, ByteView frame) {
  Site& s = site(side);
  if (!agent_takes(s, frame)) return gateway_send(side, recovery::opposite(ingress), frame);
  s.engine->receive(ingress, s.pool.put(frame), tag_of(frame).value_or(recovery::Tag{}), now_);
}

void TwoSites::gateway_send(Side side, Port port, ByteView frame) {
  if (port == Port::kLan) return deliver_to_host(side, frame);
  Tapped tapped{.frame = Bytes(frame.begin(), frame.end()), .copies = {}};
  if (tap && !tap(Place::kIntoWan, side, tapped)) return;
  enter_wan(side, std::move(tapped.frame), tapped.extra_delay);
  for (Bytes& copy : tapped.copies)
    enter_wan(side, std::move(copy), Time{0});
}

void TwoSites::enter_wan(Side from, Bytes frame, Time extra_delay) {
  WanLink& wan = link_from(from);
  const auto ip = netem::IpFrame::locate(frame);
  const auto classified = wan.classifier.classify(frame, ip);
  const auto kind = static_cast<std::size_t>(classified.kind);
  ++wan.counts.packets[kind];
  wan.counts.ip_bytes[kind] += ip.ip_bytes;
  const netem::Fate fate =
      wan.link.enter(now_, {.ip_bytes = ip.ip_bytes, .stream = classified.stream, .ect = ip.ect});
  if (fate.outcome == netem::Fate::Outcome::kTailDropped) {
    ++wan.counts.tail_drops;
    return;
  }
  if (fate.outcome == netem::Fate::Outcome::kLost) {
    ++wan.counts.lost[kind];
    if (classified.source) {
      lost_sources_.push_back({classified.source->flow, classified.source->psn, classified.source->icrc});
    }
    return;
  }
  if (fate.ce_marked) netem::mark_ce(ip, frame);
  if (fate.bleached) netem::bleach_dscp(ip, frame);
  if (fate.corrupt_bit) netem::flip_bit(ip, frame, *fate.corrupt_bit);
  if (fate.duplicated) in_flight_.push({fate.deliver_at + extra_delay, deliveries_++, other(from), frame});
  in_flight_.push({fate.deliver_at + extra_delay, deliveries_++, other(from), std::move(frame)});
}

void TwoSites::inject_into_wan(Side from, ByteView frame) {
  enter_wan(from, Bytes(frame.begin(), frame.end()), Time{0});
}

void TwoSites::deliver_to_host(Side side, ByteView frame) {
  Tapped tapped{.frame = Bytes(frame.begin(), frame.end()), .copies = {}};
  if (tap && !tap(Place::kToHost, side, tapped)) return;
  Site& s = site(side);
  for (const auto& host : s.hosts) {
    host->receive(now_, tapped.frame);
    for (const Bytes& copy : tapped.copies)
      host->receive(now_, copy);
  }
  s.idle = false;
}

void TwoSites::pump_hosts(Side side) {
  Site& s = site(side);
  for (std::size_t number = 0; number < s.hosts.size(); ++number) {
    rc::Host& host = *s.hosts[number];
    host.advance(now_);
    while (const std::size_t bytes = host.next_frame(now_, frame_buffer_)) {
      const ByteView sent = ByteView(frame_buffer_).first(bytes);
      Tapped tapped{.frame = Bytes(sent.begin(), sent.end()), .copies = {}};
      if (tap && !tap(Place::kFromHost, side, tapped)) continue;
      gateway_receive(side, Port::kLan, tapped.frame);
      for (const Bytes& copy : tapped.copies)
        gateway_receive(side, Port::kLan, copy);
    }
    const rc::Events events = host.take_events();
    if (on_events) on_events(side, number, events);
  }
}

Time TwoSites::next_time() {
  Time next = in_flight_.empty() ? Time::max() : in_flight_.top().at;
  for (const Side side : kSides) {
    Site& s = site(side);
    if (!s.idle) return now_;
    for (const auto& host : s.hosts) {
      if (const auto deadline = host->next_deadline()) next = std::min(next, *deadline);
    }
    if (s.engine && !s.stopped) next = std::min(next, s.engine->next_deadline(now_));
  }
  return next;
}

void TwoSites::run_until(Time until) {
  for (const Side side : kSides)
    wake(side);
  while (true) {
    const Time next = std::max(now_, next_time());
    if (next > until) break;
    now_ = next;
    while (!in_flight_.empty() && in_flight_.top().at <= now_) {
      Delivery delivery = std::move(const_cast<Delivery&>(in_flight_.top()));
      in_flight_.pop();
      Tapped tapped{.frame = std::move(delivery.frame), .copies = {}};
      if (tap && !tap(Place::kOutOfWan, delivery.to, tapped)) continue;
      gateway_receive(delivery.to, Port::kWan, tapped.frame);
      for (const Bytes& copy : tapped.copies)
        gateway_receive(delivery.to, Port::kWan, copy);
    }
    for (const Side side : kSides) {
      Site& s = site(side);
      s.idle = true;
      if (s.engine && !s.stopped) s.engine->tick(now_);
      pump_hosts(side);
    }
  }
  now_ = std::max(now_, until == Time::max() ? now_ : until);
}

}  // namespace weft::sim
