// Two PeerSessions and the packets between them, in virtual time: what each owner does after every batch, over
// a path that delays and may be told to lose.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "agent/base/rng.h"
#include "agent/wire/peer_session.h"

namespace weft::test {

enum class Side : std::uint8_t { kA, kB };
constexpr Side other(Side side) { return side == Side::kA ? Side::kB : Side::kA; }

class SessionPair {
 public:
  // One way. Both sides boot at time `start`.
  SessionPair(std::uint64_t seed, Nanoseconds one_way_delay,
              Nanoseconds start = std::chrono::milliseconds(1));

  wire::PeerSession& session(Side side) { return *sessions_[index(side)]; }
  Nanoseconds now() const { return now_; }

  // A new boot id and nothing remembered.
  void restart(Side side);
  // Packets to send are asked for, lost or delivered, until `duration` has passed; with `data`, both sides see
  // data every millisecond.
  void run(Nanoseconds duration, bool data = true);
  // Sends a packet of `type` from a side; nothing while it has no key.
  void send(Side from, wire::PacketType type, const Bytes& body);
  // Puts a payload on the path towards `to`.
  void inject(Side to, Bytes payload) { deliver_at(to, std::move(payload), now_ + delay_); }
  // Opened at once, past the path.
  tl::expected<wire::Opened, wire::Refusal> open_at(Side side, const Bytes& payload) {
    return session(side).open(payload, now_);
  }
  // A packet of `type` with this body, sealed by `from`; empty when it has no key.
  Bytes sealed(Side from, wire::PacketType type, const Bytes& body);

  // Whether a packet on its way to `to` gets lost; asked once for each.
  std::function<bool(Side to, wire::PacketType type)> loses = [](Side, wire::PacketType) { return false; };
  // Extra delay of a packet.
  std::function<Nanoseconds(Side to)> extra_delay = [](Side) { return Nanoseconds(0); };

  // A packet that a side accepted.
  std::function<void(Side at, const Bytes& payload, const wire::Opened& opened)> on_opened =
      [](Side, const Bytes&, const wire::Opened&) {};

  // Everything ever sent towards a side, lost or not.
  const std::vector<Bytes>& sent_to(Side side) const { return sent_to_[index(side)]; }
  std::size_t sent_count(Side from, wire::PacketType type) const;
  // Events of a side since the last call.
  std::vector<wire::PeerEvent> take_events(Side side);

 private:
  struct InFlight {
    Nanoseconds at;
    Side to;
    Bytes payload;
  };
  static std::size_t index(Side side) { return static_cast<std::size_t>(side); }
  void deliver_at(Side to, Bytes payload, Nanoseconds at);
  void step(bool data);

  Rng rng_;
  wire::Psk psk_;
  Nanoseconds delay_;
  Nanoseconds now_;
  std::array<std::unique_ptr<wire::PeerSession>, 2> sessions_;
  std::vector<InFlight> in_flight_;
  std::array<std::vector<Bytes>, 2> sent_to_;
  std::array<std::vector<wire::PeerEvent>, 2> events_;
};

}  // namespace weft::test
