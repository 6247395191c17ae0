#include "tests/property/sites_config.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include <fmt/format.h>

#include "agent/base/rng.h"

namespace weft::test {

netem::WanProfile wan_profile(const Wan& wan, std::uint64_t seed) {
  netem::LinkProfile link;
  link.rate_bits_per_second = wan.rate_bits;
  link.delay = wan.rtt / 2;
  // Two bandwidth-delay products, the lab's queue.
  link.queue_bytes = static_cast<std::uint64_t>(2.0 * static_cast<double>(wan.rate_bits) / 8 *
                                                std::chrono::duration<double>(wan.rtt).count()) +
                     100'000;
  if (wan.loss > 0) {
    link.loss.model =
        wan.burst > 1 ? netem::LossProfile::Model::kGilbertElliott : netem::LossProfile::Model::kIid;
    link.loss.probability = wan.loss;
    link.loss.mean_burst_packets = wan.burst;
  }
  netem::WanProfile profile;
  profile.schedules = {netem::LinkSchedule{{.from = Nanoseconds{0}, .link = link}},
                       netem::LinkSchedule{{.from = Nanoseconds{0}, .link = link}}};
  profile.seed = seed;
  return profile;
}

namespace {

std::vector<roce::IpPrefix> prefixes_of(sim::Side side) {
  const int site = side == sim::Side::kA ? 1 : 2;
  return {roce::IpPrefix::parse(fmt::format("10.{}.0.0/16", site)).value(),
          roce::IpPrefix::parse(fmt::format("fd00:{}::/32", site)).value()};
}

}  // namespace

bool is_of_a_site(const roce::IpAddress& address) {
  static const std::array prefixes{prefixes_of(sim::Side::kA), prefixes_of(sim::Side::kB)};
  return std::ranges::any_of(prefixes, [&](const auto& of_side) {
    return std::ranges::any_of(of_side, [&](const roce::IpPrefix& p) { return p.contains(address); });
  });
}

recovery::EngineConfig agent_config(sim::Side side, const recovery::PolicyTable& policy, std::uint64_t boot) {
  recovery::EngineConfig config;
  config.policy = policy;
  recovery::PeerConfig peer;
  peer.name = std::string(1, side == sim::Side::kA ? 'b' : 'a');
  peer.prefixes = prefixes_of(sim::other(side));
  peer.psk.bytes.fill(0x42);
  Rng rng = Rng::stream(boot, sim::index(side));
  for (std::uint8_t& byte : peer.own_boot_id)
    byte = static_cast<std::uint8_t>(rng.next());
  config.peers.push_back(peer);
  config.restorer.endpoint_timeout = std::chrono::milliseconds(134);
  return config;
}

sim::SitesConfig sites_config(const Wan& wan, const recovery::PolicyTable* policy, std::uint64_t seed) {
  sim::SitesConfig config;
  config.wan = wan_profile(wan, seed);
  config.endpoint_rate_bits = wan.rate_bits;
  if (policy != nullptr) {
    for (const sim::Side side : sim::kSides)
      config.agents[sim::index(side)] = agent_config(side, *policy, seed);
    const auto tag = [&](std::string_view name, std::uint8_t level = 0) {
      return recovery::Tag{.class_id = policy->find(name).value(), .level = level};
    };
    config.tag_by_dscp[kDscpExact] = tag("exact");
    config.tag_by_dscp[kDscpDpHigh] = tag("dp-high");
    config.tag_by_dscp[kDscpDpLow] = tag("dp-low");
    for (std::uint8_t level = 0; level < recovery::kLevels; ++level) {
      config.tag_by_dscp[kDscpPp + level] = tag("pp", level);
    }
    config.response_tag = tag("ack");
  }
  return config;
}

recovery::PolicyTable fixed_policy(std::uint16_t k, std::uint16_t r, std::uint16_t interleave) {
  auto policy = recovery::PolicyTable::defaults();
  for (recovery::ClassPolicy& row : policy.classes) {
    if (row.levels[0].target_residual)
      row.fixed = recovery::FixedCode{.k = k, .r = r, .interleave = interleave};
  }
  policy.fec.max_overhead = 0.35;
  return policy;
}

void print_counters(std::string_view title, const recovery::Engine& engine) {
  for (const auto& peer : engine.status()) {
    std::printf("%.*s -> %.*s\n", static_cast<int>(title.size()), title.data(),
                static_cast<int>(peer.name.size()), peer.name.data());
    for (std::size_t i = 0; i < recovery::kEventCount; ++i) {
      const auto total = peer.counters->total(static_cast<recovery::Event>(i));
      if (total != 0)
        std::printf("  %-28s %llu\n", recovery::kEventNames[i].data(),
                    static_cast<unsigned long long>(total));
    }
  }
}

}  // namespace weft::test
