// One peer, from one lane of this agent: who it is, whether it lives, and the keys of the two of us.
//
//            own boot id ──hello──▶          a new boot id of the peer replaces the old one, and its keys, only
//            ◀──hello── boot id, echo        after the peer has echoed ours in answer to a hello we sent since
//                                            we took the old one: an old recorded hello resets nothing
//   seeking ──our id echoed──▶ adopted (data keys) ──the peer has seen its own echoed, too──▶ complete
//                                                     feedback or hello arrives │  ▲ feedback silent
//                                                                               ▼  │
//                                                                               ready
//
// Only while ready may anything be encoded for the peer or accepted from it (hello and feedback excepted,
// which bring that about). After a silence the keys stay: the next feedback of the same boot id makes it ready
// again.
//
// Pure: time comes in as an argument and never goes backwards, the boot id as configuration. Owned and called
// by the lane's thread. Lanes of one agent share a boot id and each have a session of their own, with the
// lane's number in the nonce; sessions with different peers must not share a boot id.
//
// The owner, after every batch: tick(); for each event act; send what hello_due() and feedback_due() ask for,
// built as encode(next_hello(now)) into a packet that seal() completes.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include <tl/expected.hpp>

#include "agent/base/bytes.h"
#include "agent/base/units.h"
#include "agent/wire/event_limit.h"
#include "agent/wire/feedback_clock.h"
#include "agent/wire/format.h"
#include "agent/wire/messages.h"
#include "agent/wire/packet_key.h"
#include "agent/wire/replay_window.h"

namespace weft::wire {

struct SessionConfig {
  Psk psk;
  BootId own_boot_id{};  // from a cryptographic random source, fresh for every session with a peer
  std::uint8_t lane = 0;
  std::uint8_t lane_count = 1;
  std::uint64_t classes_digest = 0;  // class_names_digest() of this agent's policy
  std::uint32_t capabilities = 0;
  std::uint16_t mtu_bytes = 0;
};

enum class PeerEvent : std::uint8_t {
  kUp,         // ready from now on
  kDown,       // was ready, fell silent
  kRestarted,  // another boot id was adopted after a complete session: what the old one knew or sent is void.
               // Not ready until kUp follows; no kDown comes before
};

// A packet that was authentic, new and allowed.
struct Opened {
  Header header;
  ByteView body;                     // into the packet; for decode_... by header.type
  std::optional<Feedback> feedback;  // decoded already when it is one
};

class PeerSession {
 public:
  explicit PeerSession(const SessionConfig& config);

  // Takes a UDP payload that came from this peer's addresses. Hellos are dealt with here; a repair that is
  // refused as not ready is authentic all the same, and its counter is used up.
  tl::expected<Opened, Refusal> open(ByteView udp_payload, Nanoseconds now);

  // `packet` is room for the header, the body in place, room for the tag: writes both. False, with nothing to
  // send, while there is no key for that type: anything but a hello needs an adopted peer.
  [[nodiscard]] bool seal(PacketType type, MutableByteView packet);

  // Data to or from this peer passed: worth a hello while not ready, and feedback while complete.
  void on_data(Nanoseconds now);

  // Hello: in answer to one, or again and again with growing distance while not ready and data passes.
  bool hello_due(Nanoseconds now) const;
  Hello next_hello(Nanoseconds now);
  // Feedback: once a round trip while data passes, four a second for ten minutes after. The caller adds what
  // the restorer knows.
  bool feedback_due(Nanoseconds now) const;
  Feedback next_feedback(Nanoseconds now);

  // Notices silence.
  void tick(Nanoseconds now);
  // When tick() or a due question would next answer differently; Nanoseconds::max() when never by itself.
  Nanoseconds next_deadline(Nanoseconds now) const;
  std::optional<PeerEvent> next_event();

  bool ready() const { return ready_; }
  // Round trip between the agents, smoothed; nullopt before the first echo.
  std::optional<Nanoseconds> rtt() const { return clock_.rtt(); }
  std::optional<Nanoseconds> least_rtt() const { return clock_.least_rtt(); }
  // The newest hello of the adopted peer: its capabilities, MTU, class names; nullopt before.
  const std::optional<Hello>& peer_hello() const { return peer_hello_; }
  // Whether class ids mean the same on both sides. When not, the peer's streams are to be taken for class 0.
  bool same_classes() const { return peer_hello_ && peer_hello_->classes_digest == config_.classes_digest; }
  const BootId& own_boot_id() const { return config_.own_boot_id; }

 private:
  // An agent whose hello was authentic.
  struct Remote {
    BootId boot_id;
    PacketKey hello_key;
    std::vector<ReplayWindow> windows;  // by lane, as long as the highest lane heard from
    std::uint64_t newest_sent_at_ns = 0;
    Nanoseconds newest_received_at{0};
    bool echo_wanted = false;  // it should hear from us at once
  };
  struct DataKeys {
    PacketKey sending;
    PacketKey receiving;
  };

  tl::expected<Opened, Refusal> open_hello(const Header& header, ByteView packet, Nanoseconds now);
  tl::expected<Opened, Refusal> open_data(const Header& header, ByteView packet, Nanoseconds now);
  static std::optional<Refusal> authenticate(Remote& remote, const PacketKey& key, const Header& header,
                                             ByteView packet);
  void on_hello(Remote& remote, const Hello& hello, Nanoseconds now);
  void adopt(Remote& remote, Nanoseconds now);
  void on_life(Nanoseconds now);
  bool hello_wanted(Nanoseconds now) const;
  static void note_sent_at(Remote& remote, std::uint64_t sent_at_ns, Nanoseconds now);

  SessionConfig config_;
  PacketKey own_hello_key_;
  std::uint64_t counter_ = 0;

  std::optional<Remote> peer_;       // adopted
  std::optional<Remote> candidate_;  // the newest other boot id heard of, not adopted
  std::optional<DataKeys> keys_;     // with peer_
  std::optional<Hello> peer_hello_;
  std::uint64_t adopted_at_ns_ = 0;  // an echo of anything sent before is of no use to replace peer_
  bool complete_ = false;
  bool ready_ = false;
  std::uint32_t peer_period_us_;
  Nanoseconds silent_at_{0};
  std::deque<PeerEvent> events_;

  FeedbackClock clock_;
  std::uint32_t feedback_sequence_ = 0;
  std::optional<Nanoseconds> last_data_at_;
  std::optional<Nanoseconds> stranger_at_;  // a packet of an unknown boot id: somebody is there
  Nanoseconds next_hello_at_{0};
  Nanoseconds hello_interval_;
  EventLimit derivations_;
  EventLimit answers_;
};

}  // namespace weft::wire
