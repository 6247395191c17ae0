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

roce::IpAddress address(bool ipv6, Side side, std::size_t host) {
  const int site = side == Side::kA ? 1 : 2;
  return roce::IpAddress::parse(ipv6 ? fmt::format("fd00:{}::{:x}", site, 2 + host)
                                     : fmt::format("10.{}.0.{}", site, 2 + host))
      .value();
}

roce::PacketPath path_between(const TransferConfig& config, bool from_a, std::size_t host, std::uint8_t dscp,
                              std::uint16_t port) {
  const Side from = from_a ? Side::kA : Side::kB;
  const auto number = static_cast<std::uint8_t>(host);
  roce::PacketPath path;
  path.src = address(config.ipv6, from, host);
  path.dst = address(config.ipv6, other(from), host);
  path.src_mac = {2, 0, 0, 0, number, static_cast<std::uint8_t>(from_a ? 1 : 2)};
  path.dst_mac = {2, 0, 0, 0, number, static_cast<std::uint8_t>(from_a ? 2 : 1)};
  path.vlans = config.vlans;
  constexpr std::uint8_t kEct0 = 2;
  path.tos = static_cast<std::uint8_t>(dscp << 2 | kEct0);
  path.udp_source_port = port;
  return path;
}

}  // namespace

roce::IpAddress Transfer::address_of(Side side, std::size_t host) const {
  return address(config_.ipv6, side, host);
}
std::uint32_t Transfer::qpn_a_of(std::uint32_t qpn_b) { return qpn_b - kFirstQpnB + kFirstQpnA; }
std::uint32_t Transfer::qpn_b_of(std::uint32_t qpn_a) { return qpn_a - kFirstQpnA + kFirstQpnB; }

Transfer::Transfer(TwoSites& sites, const TransferConfig& config)
    : sites_(sites),
      config_(config),
      rng_(Rng::stream(config.seed, 0x7472616e73666572)),
      pattern_(config.seed),
      slots_(config.slots),
      channels_of_host_(config.hosts),
      payloads_(config.messages.size()) {
  for (const MessageSpec& spec : config_.messages)
    outcomes_.emplace_back().spec = spec;
  sites_.on_events = [this](Side side, std::size_t host, const rc::Events& events) {
    for (const rc::Arrival& arrival : events.arrivals) {
      if (side == Side::kB) on_arrival(host, arrival);
    }
    for (const rc::Completion& completion : events.completions) {
      if (side == Side::kA) on_completion(host, completion);
    }
  };
}

Transfer::Channel& Transfer::channel_of(std::size_t slot, std::uint8_t dscp) {
  auto& place = slots_[slot].channels[dscp];
  if (place) return *place;
  place = std::make_unique<Channel>();
  place->slot = slot;
  place->host = slot % config_.hosts;
  place->dscp = dscp;
  const std::uint32_t number = channels_of_host_[place->host]++;
  place->qpn_a = kFirstQpnA + number;
  place->qpn_b = kFirstQpnB + number;
  place->va = kFirstVa + number * kVaStride;
  place->rkey = kFirstRkey + number;
  std::uint32_t largest_bytes = 0;
  for (const MessageSpec& spec : config_.messages)
    largest_bytes = std::max(largest_bytes, spec.bytes);
  place->memory.resize(largest_bytes);
  place->sink.resize(largest_bytes);
  sites_.host(Side::kB, place->host).memory().add_region(place->rkey, place->va, place->memory);
  make_qps(*place);
  by_qpn_a_[{place->host, place->qpn_a}] = place.get();
  by_qpn_b_[{place->host, place->qpn_b}] = place.get();
  return *place;
}

void Transfer::make_qps(const Channel& channel) {
  const auto first_psn = [&] {
    return roce::Psn(config_.psn_zero ? 0
                                      : config_.first_psn_from +
                                            static_cast<std::uint32_t>(rng_.below(config_.first_psn_span)));
  };
  const auto port = static_cast<std::uint16_t>(0xc000 | ((channel.qpn_a * 31 + channel.qpn_b * 17) & 0x3fff));
  rc::QpConfig a{.qpn = channel.qpn_a,
                 .peer_qpn = channel.qpn_b,
                 .first_psn = first_psn(),
                 .peer_first_psn = first_psn(),
                 .path = path_between(config_, true, channel.host, channel.dscp, port),
                 .pmtu_bytes = config_.pmtu_bytes,
                 .window_packets = config_.window_packets,
                 .timeout = config_.timeout,
                 .retry_count = config_.retry_count};
  rc::QpConfig b = a;
  std::swap(b.qpn, b.peer_qpn);
  std::swap(b.first_psn, b.peer_first_psn);
  const auto port_back = static_cast<std::uint16_t>(config_.same_port_back ? port : port ^ 0x1555);
  b.path = path_between(config_, false, channel.host, channel.dscp, port_back);
  sites_.host(Side::kA, channel.host).add_qp(a);
  sites_.host(Side::kB, channel.host).add_qp(b);
}

void Transfer::post_next(std::size_t slot) {
  if (next_message_ == outcomes_.size()) return;
  const std::size_t index = next_message_++;
  MessageOutcome& outcome = outcomes_[index];
  Channel& channel = channel_of(slot, outcome.spec.dscp);
  if (config_.messages_per_qp != 0 && channel.in_this_life == config_.messages_per_qp) {
    make_qps(channel);
    channel.in_this_life = 0;
    channel.expected.clear();
    std::erase(late_receives_, &channel);
    if (on_new_life) on_new_life(channel.host, channel.qpn_a, channel.qpn_b);
  }
  ++channel.in_this_life;
  payloads_[index] = pattern_.message(channel.qpn_b, channel.posted++);
  rc::WorkRequest work;
  work.id = index;
  work.op = outcome.spec.op;
  work.bytes = outcome.spec.bytes;
  work.payload = payloads_[index];
  work.va = channel.va;
  work.rkey = channel.rkey;
  work.imm = static_cast<std::uint32_t>(index);
  outcome.posted_at = sites_.now();
  outcome.host = channel.host;
  outcome.qpn_b = channel.qpn_b;
  outcome.va = channel.va;
  if (work.op == rc::WorkOp::kRead) {
    rc::write_payload(work.payload, MutableByteView(channel.memory).first(work.bytes));
    std::ranges::fill(channel.sink, rc::kPoison);
    work.sink = MutableByteView(channel.sink).first(work.bytes);
  } else {
    std::ranges::fill(channel.memory, rc::kPoison);
    channel.expected.push_back(index);
    if (work.op != rc::WorkOp::kWrite) {
      late_receives_.push_back(&channel);
      if (!rng_.chance(config_.late_receives)) post_late_receives();
    }
  }
  sites_.host(Side::kA, channel.host).post(sites_.now(), channel.qpn_a, work);
  sites_.wake(Side::kA);
}

void Transfer::post_late_receives() {
  for (Channel* channel : late_receives_)
    sites_.host(Side::kB, channel->host).post_receive(channel->qpn_b, channel->memory);
  late_receives_.clear();
}

void Transfer::judge(MessageOutcome& outcome, std::size_t index, ByteView bytes) {
  outcome.delivered = bytes.size() == outcome.spec.bytes;
  const auto check = rc::check_payload(payloads_[index], bytes);
  outcome.corrupt_bytes = check.corrupt_bytes;
  outcome.zero_runs = check.zero_runs;
}

void Transfer::on_arrival(std::size_t host, const rc::Arrival& arrival) {
  Channel& channel = *by_qpn_b_.at({host, arrival.qpn});
  if (channel.expected.empty()) return;  // of a queue pair that has been replaced
  const std::size_t index = channel.expected.front();
  channel.expected.pop_front();
  outcomes_[index].first_psn = arrival.first_psn;
  judge(outcomes_[index], index, arrival.bytes);
}

void Transfer::on_completion(std::size_t host, const rc::Completion& completion) {
  MessageOutcome& outcome = outcomes_[completion.id];
  const Channel& channel = *by_qpn_a_.at({host, completion.qpn});
  outcome.status = completion.status;
  outcome.completion_time = completion.completed_at - completion.posted_at;
  outcome.retransmitted_packets = completion.retransmitted_packets;
  outcome.timeouts = completion.timeouts;
  if (outcome.spec.op == rc::WorkOp::kRead)
    judge(outcome, completion.id, ByteView(channel.sink).first(outcome.spec.bytes));
  ++finished_;
  post_next(channel.slot);
}

void Transfer::start() {
  for (std::size_t slot = 0; slot < slots_.size(); ++slot)
    post_next(slot);
}

bool Transfer::succeeded() const {
  return finished() && std::ranges::all_of(outcomes_, [](const MessageOutcome& outcome) {
           return outcome.status == rc::WorkStatus::kSuccess && outcome.delivered;
         });
}

bool Transfer::run(Time limit) {
  start();
  // In steps, since agents have something to do for as long as they live.
  constexpr Time kStep = std::chrono::milliseconds(20);
  while (!finished() && sites_.now() < limit) {
    sites_.run_until(sites_.now() + kStep);
    post_late_receives();
  }
  return succeeded();
}

}  // namespace weft::sim
