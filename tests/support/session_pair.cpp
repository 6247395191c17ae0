#include "tests/support/session_pair.h"

#include <algorithm>

#include "tests/support/random_message.h"

namespace weft::test {

namespace {
constexpr Nanoseconds kStep = std::chrono::milliseconds(1);
}  // namespace

SessionPair::SessionPair(std::uint64_t seed, Nanoseconds one_way_delay, Nanoseconds start)
    : rng_(seed), delay_(one_way_delay), now_(start) {
  for (std::uint8_t& byte : psk_.bytes)
    byte = static_cast<std::uint8_t>(rng_.next());
  restart(Side::kA);
  restart(Side::kB);
}

void SessionPair::restart(Side side) {
  sessions_[index(side)] = std::make_unique<wire::PeerSession>(wire::SessionConfig{
      .psk = psk_, .own_boot_id = random_boot_id(rng_), .capabilities = 3, .mtu_bytes = 1500});
}

Bytes SessionPair::sealed(Side from, wire::PacketType type, const Bytes& body) {
  Bytes packet(wire::kEnvelopeBytes + body.size());
  std::ranges::copy(body, packet.begin() + wire::kHeaderBytes);
  return session(from).seal(type, packet) ? packet : Bytes{};
}

void SessionPair::send(Side from, wire::PacketType type, const Bytes& body) {
  Bytes packet = sealed(from, type, body);
  if (packet.empty()) return;
  const Side to = other(from);
  sent_to_[index(to)].push_back(packet);
  if (!loses(to, type)) deliver_at(to, std::move(packet), now_ + delay_ + extra_delay(to));
}

void SessionPair::deliver_at(Side to, Bytes payload, Nanoseconds at) {
  in_flight_.push_back({.at = at, .to = to, .payload = std::move(payload)});
}

void SessionPair::step(bool data) {
  std::vector<InFlight> due;
  std::erase_if(in_flight_, [&](InFlight& packet) {
    if (packet.at > now_) return false;
    due.push_back(std::move(packet));
    return true;
  });
  std::ranges::stable_sort(due, {}, &InFlight::at);
  for (const InFlight& packet : due) {
    const auto opened = session(packet.to).open(packet.payload, now_);
    if (opened) on_opened(packet.to, packet.payload, *opened);
  }
  for (const Side side : {Side::kA, Side::kB}) {
    wire::PeerSession& own = session(side);
    if (data) own.on_data(now_);
    own.tick(now_);
    while (const auto event = own.next_event())
      events_[index(side)].push_back(*event);
    while (own.hello_due(now_))
      send(side, wire::PacketType::kHello, encoded(own.next_hello(now_)));
    if (own.feedback_due(now_)) send(side, wire::PacketType::kFeedback, encoded(own.next_feedback(now_)));
  }
}

void SessionPair::run(Nanoseconds duration, bool data) {
  for (const Nanoseconds end = now_ + duration; now_ < end; now_ += kStep)
    step(data);
}

std::size_t SessionPair::sent_count(Side from, wire::PacketType type) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(sent_to_[index(other(from))],
                            [&](const Bytes& packet) { return wire::looks_like_weft(packet) == type; }));
}

std::vector<wire::PeerEvent> SessionPair::take_events(Side side) {
  return std::exchange(events_[index(side)], {});
}

}  // namespace weft::test
