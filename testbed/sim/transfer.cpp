#include "testbed/sim/transfer.h"

#include <algorithm>

#include <fmt/format.h>

namespace weft::sim {
namespace {

constexpr std::uint32_t kFirstQpnA = 0x100;
constexpr std::uint32_t kFirstQpnB = 0x900;
constexpr std::uint64_t kFirstVa = 0x7f00'0000'0000;
constexpr std::uint64_t kVaStride = std::uint64_t{1} << 32;
constexpr std::uint32_t kFirstRkey = 0x5000;

roce::PacketPath path_between(const TransferConfig& config, bool from_a, std::uint8_t dscp,
                              std::uint16_t port) {
  const auto address = [&](int site) {
    return roce::IpAddress::parse(config.ipv6 ? fmt::format("fd00:{}::2", site)
                                              : fmt::format("10.{}.0.2", site))
        .value();
  };
  roce::PacketPath path;
  path.src = address(from_a ? 1 : 2);
  path.dst = address(from_a ? 2 : 1);
  path.src_mac = {2, 0, 0, 0, 0, static_cast<std::uint8_t>(from_a ? 1 : 2)};
  path.dst_mac = {2, 0, 0, 0, 0, static_cast<std::uint8_t>(from_a ? 2 : 1)};
  path.vlans = config.vlans;
  constexpr std::uint8_t kEct0 = 2;
  path.tos = static_cast<std::uint8_t>(dscp << 2 | kEct0);
  path.udp_source_port = port;
  return path;
}

}  // namespace

Transfer::Transfer(TwoSites& sites, const TransferConfig& config)
    : sites_(sites),
      config_(config),
      rng_(Rng::stream(config.seed, 0x7472616e73666572)),
      pattern_(config.seed),
      slots_(config.slots) {
  for (const MessageSpec& spec : config_.messages)
    outcomes_.emplace_back().spec = spec;
  sites_.on_events = [this](Side side, const rc::Events& events) { on_events(side, events); };
}

Transfer::Channel& Transfer::channel_of(std::size_t slot, std::uint8_t dscp) {
  auto& place = slots_[slot].channels[dscp];
  if (place) return *place;
  place = std::make_unique<Channel>();
  const auto number = static_cast<std::uint32_t>(by_qpn_a_.size());
  place->qpn_a = kFirstQpnA + number;
  place->qpn_b = kFirstQpnB + number;
  place->va = kFirstVa + number * kVaStride;
  place->rkey = kFirstRkey + number;
  std::uint32_t largest_bytes = 0;
  for (const MessageSpec& spec : config_.messages)
    largest_bytes = std::max(largest_bytes, spec.bytes);
  place->memory.resize(largest_bytes);
  sites_.host(Side::kB).memory().add_region(place->rkey, place->va, place->memory);

  const auto first_psn = [&] {
    return roce::Psn(config_.psn_zero ? 0
                                      : config_.first_psn_from +
                                            static_cast<std::uint32_t>(rng_.below(config_.first_psn_span)));
  };
  // As ConnectX does: the UDP source port hashes both queue pair numbers, so both directions share it.
  const auto port = static_cast<std::uint16_t>(0xc000 | ((place->qpn_a * 31 + place->qpn_b * 17) & 0x3fff));
  rc::QpConfig a{.qpn = place->qpn_a,
                 .peer_qpn = place->qpn_b,
                 .first_psn = first_psn(),
                 .peer_first_psn = first_psn(),
                 .path = path_between(config_, true, dscp, port),
                 .pmtu_bytes = config_.pmtu_bytes,
                 .window_packets = config_.window_packets,
                 .timeout = config_.timeout};
  rc::QpConfig b = a;
  std::swap(b.qpn, b.peer_qpn);
  std::swap(b.first_psn, b.peer_first_psn);
  b.path = path_between(config_, false, dscp, port);
  sites_.host(Side::kA).add_qp(a);
  sites_.host(Side::kB).add_qp(b);
  by_qpn_a_[place->qpn_a] = {slot, place.get()};
  return *place;
}

void Transfer::post_next(std::size_t slot) {
  if (next_message_ == outcomes_.size()) return;
  const std::size_t index = next_message_++;
  const MessageSpec& spec = outcomes_[index].spec;
  Channel& channel = channel_of(slot, spec.dscp);
  std::ranges::fill(channel.memory, rc::kPoison);
  rc::WorkRequest work;
  work.id = index;
  work.op = config_.op;
  work.bytes = spec.bytes;
  work.payload = pattern_.message(channel.qpn_b, channel.posted++);
  work.va = channel.va;
  work.rkey = channel.rkey;
  work.imm = static_cast<std::uint32_t>(index);
  outcomes_[index].qpn_b = channel.qpn_b;
  outcomes_[index].va = channel.va;
  expected_on_qpn_b_[channel.qpn_b].push_back(index);
  if (config_.op != rc::WorkOp::kWrite) sites_.host(Side::kB).post_receive(channel.qpn_b, channel.memory);
  sites_.host(Side::kA).post(sites_.now(), channel.qpn_a, work);
  sites_.wake(Side::kA);
}

void Transfer::on_events(Side side, const rc::Events& events) {
  if (side == Side::kB) {
    for (const rc::Arrival& arrival : events.arrivals) {
      auto& expected = expected_on_qpn_b_[arrival.qpn];
      MessageOutcome& outcome = outcomes_[expected.front()];
      expected.pop_front();
      outcome.delivered = arrival.bytes.size() == outcome.spec.bytes;
      const auto check = rc::check_payload(pattern_.message(arrival.qpn, arrival.message), arrival.bytes);
      outcome.corrupt_bytes = check.corrupt_bytes;
      outcome.zero_runs = check.zero_runs;
    }
    return;
  }
  for (const rc::Completion& completion : events.completions) {
    MessageOutcome& outcome = outcomes_[completion.id];
    outcome.status = completion.status;
    outcome.completion_time = completion.completed_at - completion.posted_at;
    outcome.retransmitted_packets = completion.retransmitted_packets;
    outcome.timeouts = completion.timeouts;
    ++finished_;
    post_next(by_qpn_a_.at(completion.qpn).first);
  }
}

bool Transfer::run(Time limit) {
  for (std::size_t slot = 0; slot < slots_.size(); ++slot)
    post_next(slot);
  // In steps, since agents have something to do for as long as they live.
  constexpr Time kStep = std::chrono::milliseconds(20);
  while (finished_ < outcomes_.size() && sites_.now() < limit)
    sites_.run_until(sites_.now() + kStep);
  return finished_ == outcomes_.size() && std::ranges::all_of(outcomes_, [](const MessageOutcome& outcome) {
           return outcome.status == rc::WorkStatus::kSuccess && outcome.delivered;
         });
}

}  // namespace weft::sim
