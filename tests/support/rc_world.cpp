#include "tests/support/rc_world.h"

#include <algorithm>

namespace weft::test {
namespace {

roce::IpAddress address(bool ipv6, int host) {
  return *roce::IpAddress::parse(ipv6 ? (host == 0 ? "fd00:1::2" : "fd00:2::2")
                                      : (host == 0 ? "10.1.0.2" : "10.2.0.2"));
}

}  // namespace

World::World(WorldConfig config)
    : config_(config),
      pattern_(7),
      memory_(config.memory_bytes, rc::kPoison),
      a_(rc::Pacer(config.rate_bits, Nanoseconds{0})),
      b_(rc::Pacer(config.rate_bits, Nanoseconds{0})) {
  b_.memory().add_region(kRkey, kVa, memory_);
}

void World::connect(rc::QpConfig common, std::uint32_t qpn_a, std::uint32_t qpn_b) {
  rc::QpConfig at_a = common;
  at_a.qpn = qpn_a;
  at_a.peer_qpn = qpn_b;
  at_a.path.src = address(config_.ipv6, 0);
  at_a.path.dst = address(config_.ipv6, 1);
  rc::QpConfig at_b = common;
  at_b.qpn = qpn_b;
  at_b.peer_qpn = qpn_a;
  at_b.path.src = at_a.path.dst;
  at_b.path.dst = at_a.path.src;
  std::swap(at_b.first_psn, at_b.peer_first_psn);
  a_.add_qp(at_a);
  b_.add_qp(at_b);
}

void World::drain(End from) {
  Direction& direction = directions_[static_cast<std::size_t>(from)];
  Bytes buffer(rc::Host::kLargestFrameBytes);
  while (const std::size_t bytes = host(from).next_frame(now_, buffer)) {
    const ByteView frame = ByteView(buffer).first(bytes);
    const auto view = *roce::PacketView::parse(frame);
    const auto serialisation =
        Nanoseconds(static_cast<std::int64_t>(view.ip_packet_bytes() * 8'000'000'000 / config_.rate_bits));
    direction.busy_until = std::max(direction.busy_until, now_) + serialisation;
    const Nanoseconds arrival = direction.busy_until + config_.one_way_delay;
    const Sent sent{from, direction.frames++, view, frame};
    const End to = from == End::kA ? End::kB : End::kA;
    if (!fate) {
      in_flight_.push({arrival, order_++, to, Bytes(frame.begin(), frame.end())});
      continue;
    }
    for (Copy& copy : fate(sent)) {
      in_flight_.push({arrival + copy.extra_delay, order_++, to, std::move(copy.frame)});
    }
  }
}

void World::dispatch(const rc::Events& events) {
  for (const rc::ReadRequested& read : events.reads) {
    if (on_read) on_read(read);
  }
  for (const rc::Arrival& arrival : events.arrivals) {
    arrivals_.push_back(arrival);
    if (on_arrival) on_arrival(arrival);
  }
  for (const rc::Completion& completion : events.completions) {
    completions_.push_back(completion);
    if (on_completion) on_completion(completion);
  }
}

void World::run(Nanoseconds until) {
  while (true) {
    dispatch(a_.take_events());
    dispatch(b_.take_events());
    drain(End::kA);
    drain(End::kB);
    std::optional<Nanoseconds> next;
    const auto consider = [&next](std::optional<Nanoseconds> at) {
      if (at && (!next || *at < *next)) next = at;
    };
    consider(a_.next_deadline());
    consider(b_.next_deadline());
    if (!in_flight_.empty()) consider(in_flight_.top().at);
    if (!next || *next > until) return;
    now_ = std::max(now_, *next);
    while (!in_flight_.empty() && in_flight_.top().at <= now_) {
      const InFlight arrived = in_flight_.top();
      in_flight_.pop();
      host(arrived.to).receive(now_, arrived.frame);
      dispatch(host(arrived.to).take_events());
    }
    a_.advance(now_);
    b_.advance(now_);
  }
}

}  // namespace weft::test
