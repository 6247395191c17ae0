#include "tests/property/promise_run.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "agent/roce/builder.h"

namespace weft::test {
namespace {

using recovery::Time;
using sim::Place;
using sim::Side;

constexpr std::array<const char*, 4> kFateNames{"restarted", "died", "stopped", "continued"};

double ms(Time time) { return std::chrono::duration<double, std::milli>(time).count(); }

std::string describe(const Scenario& scenario) {
  const sim::TransferConfig& transfer = scenario.transfer;
  std::string text = fmt::format(
      "{}: loss {} burst {} rtt {} ms, reorder {} by {} ms, duplicate {}, corrupt {}, lan drops {} before "
      "and {} behind, "
      "attack {}, {} slots, {} hosts, PMTU {}, {} a queue pair, late receives {}, PSN from {}{}{}",
      scenario.name, scenario.wan.loss, scenario.wan.burst, ms(scenario.wan.rtt), scenario.reorder,
      ms(scenario.reorder_delay), scenario.duplicate, scenario.corrupt, scenario.drop_from_host,
      scenario.drop_to_host, ms(scenario.attack_every), transfer.slots, transfer.hosts, transfer.pmtu_bytes,
      transfer.messages_per_qp, transfer.late_receives, transfer.first_psn_from,
      transfer.psn_zero ? ", all 0" : "", transfer.same_port_back ? ", same ports back" : "");
  for (const AgentEvent& event : scenario.agent_events) {
    text += fmt::format(", {} {} at {} ms", event.side == Side::kA ? "A" : "B",
                        kFateNames[static_cast<std::size_t>(event.fate)], ms(event.at));
  }
  return text;
}

constexpr Time kStep = std::chrono::milliseconds(5);

// The packet as if it came from 10.9... or fd09...
Bytes from_a_stranger(ByteView frame, const roce::PacketView& view) {
  Bytes copy(frame.begin(), frame.end());
  const auto ip_offset = static_cast<std::size_t>(view.ip_packet().data() - frame.data());
  constexpr std::size_t kSourceOffset[] = {12, 8};  // IPv4, IPv6
  copy[ip_offset + kSourceOffset[view.ipv6() ? 1 : 0] + 1] = 9;
  roce::store_icrc(view.ipv6(), MutableByteView(copy).subspan(ip_offset, view.ip_packet_bytes()));
  return copy;
}

}  // namespace

sim::SitesConfig PromiseRun::sites_of(const Scenario& scenario) {
  sim::SitesConfig config = sites_config(scenario.wan, &scenario.policy, scenario.seed);
  config.hosts = scenario.transfer.hosts;
  config.endpoint_rate_bits /= config.hosts;
  config.pool_frames = scenario.pool_frames;
  for (netem::LinkSchedule& schedule : config.wan.schedules) {
    netem::LinkProfile& link = schedule.front().link;
    link.reorder = scenario.reorder;
    link.reorder_delay = scenario.reorder_delay;
    link.duplicate = scenario.duplicate;
    link.corrupt = scenario.corrupt;
    if (scenario.ecn_threshold_bytes > 0) link.ecn_threshold_bytes = scenario.ecn_threshold_bytes;
  }
  if (scenario.response_mark) config.response_tag = config.tag_by_dscp[*scenario.response_mark];
  if (scenario.adjust_agent) {
    for (auto& agent : config.agents)
      scenario.adjust_agent(*agent);
  }
  return config;
}

PromiseRun::PromiseRun(Scenario scenario)
    : scenario_(std::move(scenario)),
      config_(sites_of(scenario_)),
      rng_(Rng::stream(scenario_.seed, 0x70726f6d697365)),
      attacker_(Rng::stream(scenario_.seed, 0x61747461636b)),
      deliveries_(config_, scenario_.policy, book_, complaints_),
      passing_(config_, complaints_),
      overhead_(config_, scenario_.policy.fec.max_overhead, complaints_),
      counters_(config_, complaints_),
      sites_(config_),
      transfer_(sites_, scenario_.transfer) {
  if (scenario_.corrupt > 0) counters_.set_tolerance(2);
  sites_.tap = [this](Place place, Side side, sim::TwoSites::Tapped& tapped) {
    return on_frame(place, side, tapped);
  };
  deliveries_.has_forgotten = [this](Side side) {
    return struck_ || (sites_.engine(side) != nullptr &&
                       sites_.engine(side)->status().front().counters->total(recovery::Event::kPeerDown) > 0);
  };
  transfer_.on_new_life = [this](std::size_t host, std::uint32_t qpn_a, std::uint32_t qpn_b) {
    ++hits_.faults["queue pair made anew"];
    roce::FlowKey to_b{.src = transfer_.address_of(Side::kA, host),
                       .dst = transfer_.address_of(Side::kB, host),
                       .dest_qpn = qpn_b,
                       .vids = {},
                       .vlan_count = 0,
                       .response = false};
    to_b.vlan_count = scenario_.transfer.vlans.count;
    for (std::size_t i = 0; i < to_b.vlan_count; ++i)
      to_b.vids[i] = scenario_.transfer.vlans.tags[i].vid();
    roce::FlowKey to_a = to_b;
    std::swap(to_a.src, to_a.dst);
    to_a.dest_qpn = qpn_a;
    for (roce::FlowKey key : {to_b, to_a}) {
      for (const bool response : {false, true}) {
        key.response = response;
        deliveries_.forget(key);
      }
    }
  };
}

bool PromiseRun::on_frame(Place place, Side side, sim::TwoSites::Tapped& tapped) {
  const Sighting seen = Sighting::of(place, side, sites_.now(), tapped.frame);
  book_.see(seen);
  if (place == Place::kFromHost && rng_.chance(scenario_.drop_from_host)) {
    ++hits_.faults["lost before the agent"];
    return false;
  }
  deliveries_.see(seen);
  passing_.see(seen);
  overhead_.see(seen);
  counters_.see(seen);
  if (place == Place::kIntoWan) {
    ++hits_.packets;
    if (seen.weft) attacker_.record(side, tapped.frame);
    if (seen.roce && rng_.chance(scenario_.strangers)) {
      ++hits_.faults["stranger"];
      tapped.copies.push_back(from_a_stranger(tapped.frame, *seen.roce));
    }
  }
  if (place == Place::kOutOfWan && seen.damaged) ++hits_.faults["corrupted"];
  if (also_see) also_see(seen);
  if (place == Place::kToHost && rng_.chance(scenario_.drop_to_host)) {
    ++hits_.faults["lost behind the agent"];
    return false;
  }
  return true;
}

void PromiseRun::collect(Side side) {
  if (sites_.engine(side) == nullptr) return;
  for (const auto& peer : sites_.engine(side)->status())
    hits_.events.add(*peer.counters);
  hits_.events.add(sites_.engine(side)->stray_counters());
  counters_.judge(side, *sites_.engine(side));
}

void PromiseRun::take_fill_records(Side side) {
  for (const recovery::FillRecord& record : sites_.fills(side).take().records)
    fill_records_.push_back(record);
}

void PromiseRun::strike(const AgentEvent& event) {
  ++hits_.faults[std::string("agent ") + kFateNames[static_cast<std::size_t>(event.fate)]];
  struck_ = true;
  deliveries_.agent_present(event.side,
                            event.fate == AgentFate::kRestart || event.fate == AgentFate::kContinue);
  passing_.agent_gone(event.side);
  counters_.agent_runs(event.side, event.fate == AgentFate::kContinue);
  if (event.fate == AgentFate::kStop) return sites_.stop_agent(event.side);
  if (event.fate == AgentFate::kContinue) return sites_.continue_agent(event.side);
  collect(event.side);
  take_fill_records(event.side);
  std::optional<recovery::EngineConfig> next;
  if (event.fate == AgentFate::kRestart) {
    next = agent_config(event.side, scenario_.policy, scenario_.seed + (++boots_ << 32));
    if (scenario_.adjust_agent) scenario_.adjust_agent(*next);
  }
  sites_.replace_agent(event.side, next);
  sites_.fills(event.side).take();  // what the dying one would have said
  overhead_.agent_started(event.side, sites_.now());
  counters_.agent_started(event.side);
  counters_.agent_runs(event.side, next.has_value());
}

Hits PromiseRun::run() {
  std::vector<AgentEvent> events = scenario_.agent_events;
  std::ranges::stable_sort(events, {}, &AgentEvent::at);
  auto next_event = events.begin();
  Time next_attack = scenario_.attack_every;
  Time next_receives{0};
  Time until = scenario_.limit;
  transfer_.start();
  bool glowing = false;
  while (sites_.now() < until) {
    Time step_end = sites_.now() + kStep;
    if (next_event != events.end()) step_end = std::min(step_end, std::max(next_event->at, sites_.now()));
    for (const Side side : sim::kSides)
      sites_.pool(side).set_scarce(rng_.chance(scenario_.scarce));
    sites_.run_until(step_end);
    if (also_check) also_check();
    if (sites_.now() >= next_receives) {
      transfer_.post_late_receives();
      next_receives = sites_.now() + Time(rng_.below(scenario_.wan.rtt.count() * 4));
    }
    while (next_event != events.end() && next_event->at <= sites_.now())
      strike(*next_event++);
    if (scenario_.attack_every > Time::zero() && sites_.now() >= next_attack) {
      attacker_.attack(sites_, hits_.faults);
      next_attack += scenario_.attack_every;
    }
    if (transfer_.finished() && !glowing) {
      glowing = true;
      until = sites_.now() + scenario_.afterglow;
    }
  }
  for (const Side side : sim::kSides)
    collect(side);
  judge_end();
  count_hits();
  if (complaints_.count() > 0) ADD_FAILURE() << describe(scenario_) << ": " << complaints_.text();
  return hits_;
}

void PromiseRun::judge_end() {
  passing_.finish(sites_.now());
  judge_leaks();
  hits_.bytes_declared_in_vain =
      judge_memory(transfer_, scenario_.transfer.pmtu_bytes, fill_records_, complaints_);
  if (scenario_.must_succeed && !transfer_.succeeded())
    complaints_.add("P6", "not all messages completed:" + describe_failures(transfer_));
}

void PromiseRun::count_hits() {
  for (const auto direction : netem::kDirections) {
    const sim::WanCounts& counts = sites_.wan(direction);
    for (const auto kind : netem::kAllPacketKinds)
      hits_.faults[fmt::format("lost {}", netem::name_of(kind))] +=
          counts.lost[static_cast<std::size_t>(kind)];
    hits_.faults["queue full"] += counts.tail_drops;
  }
  hits_.faults["retransmitted"] += book_.resent_packets();
  hits_.faults["PSN wrapped"] += book_.wrapped_flows();
  hits_.faults["reordered"] += book_.reordered_packets();
  hits_.faults["duplicated"] += book_.duplicated_packets();
  hits_.faults["not ours"] += passing_.untouched_packets();
  for (std::size_t host = 0; host < scenario_.transfer.hosts; ++host)
    hits_.faults["receiver not ready"] += sites_.host(Side::kB, host).counters().rnr_naks_sent;
  // Hosts number their queue pairs alike.
  if (scenario_.transfer.hosts > 1) hits_.faults["equal queue pair numbers"] += transfer_.outcomes().size();
  hits_.fills = deliveries_.fills();
  hits_.late_fills = deliveries_.late_fills();
}

// Nothing stays behind when an agent ends.
void PromiseRun::judge_leaks() {
  for (const Side side : sim::kSides) {
    sites_.replace_agent(side, std::nullopt);
    take_fill_records(side);
    if (sites_.pool(side).in_use() != 0)
      complaints_.add("P7", fmt::format("{} frames leaked", sites_.pool(side).in_use()));
  }
}

void run_scenario(const Scenario& scenario, Hits& hits) {
  PromiseRun run(scenario);
  const Hits of_run = run.run();
  std::printf("%s: %llu packets, %llu fills, until %.0f ms\n", scenario.name.c_str(),
              static_cast<unsigned long long>(of_run.packets), static_cast<unsigned long long>(of_run.fills),
              ms(run.sites().now()));
  hits.add(of_run);
}

double run_share() {
  const char* quick = std::getenv("WEFT_TEST_QUICK");
  if (quick != nullptr && *quick != 0) return 0.1;
#ifdef __SANITIZE_ADDRESS__
  return 0.15;
#else
  return 1;
#endif
}

}  // namespace weft::test
