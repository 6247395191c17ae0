#include "agent/wire/peer_session.h"

#include <algorithm>
#include <utility>

namespace weft::wire {

namespace {

using std::chrono::milliseconds;

// Above the longest round trip planned for, so that an answer can arrive before the next hello.
constexpr Nanoseconds kFirstHelloInterval = milliseconds(100);
constexpr Nanoseconds kLongestHelloInterval = std::chrono::seconds(1);
// Data this recent is data to protect.
constexpr Nanoseconds kDataIsRecent = std::chrono::seconds(1);
// Until a feedback says how often to expect them.
constexpr std::uint32_t kAssumedPeriodUs = 250'000;

// Strangers can make us derive a key (a few microseconds) by sending a hello, and answer by sending a recorded
// one. Both are bounded; a genuine hello that meets the bound is sent again.
constexpr std::uint32_t kDerivationBurst = 16;
constexpr Nanoseconds kDerivationInterval = milliseconds(5);
constexpr std::uint32_t kAnswerBurst = 8;
constexpr Nanoseconds kAnswerInterval = milliseconds(50);

std::uint64_t prefix_of(const BootId& id) { return load_be64(id.data()); }

// The clock as hello and feedback carry it: 0 means "none" there.
std::uint64_t stamp(Nanoseconds now) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(now.count(), 1));
}

}  // namespace

PeerSession::PeerSession(const SessionConfig& config)
    : config_(config),
      own_hello_key_(PacketKey::for_hello(config.psk, config.own_boot_id)),
      peer_period_us_(kAssumedPeriodUs),
      hello_interval_(kFirstHelloInterval),
      derivations_(kDerivationBurst, kDerivationInterval),
      answers_(kAnswerBurst, kAnswerInterval) {}

// ---- receiving ----

tl::expected<Opened, Refusal> PeerSession::open(ByteView udp_payload, Nanoseconds now) {
  tick(now);
  const auto header = parse_header(udp_payload);
  if (!header) return tl::unexpected(header.error());
  if (header->type == PacketType::kHello) return open_hello(*header, udp_payload, now);
  return open_data(*header, udp_payload, now);
}

std::optional<Refusal> PeerSession::authenticate(Remote& remote, const PacketKey& key, const Header& header,
                                                 ByteView packet) {
  if (header.lane < remote.windows.size() && !remote.windows[header.lane].is_new(header.counter)) {
    return Refusal::kReplayed;
  }
  if (!key.verify(header.lane, header.counter, packet)) return Refusal::kBadTag;
  if (header.lane >= remote.windows.size()) remote.windows.resize(header.lane + std::size_t{1});
  remote.windows[header.lane].mark(header.counter);
  return std::nullopt;
}

tl::expected<Opened, Refusal> PeerSession::open_hello(const Header& header, ByteView packet,
                                                      Nanoseconds now) {
  const ByteView body = packet.subspan(kHeaderBytes, packet.size() - kEnvelopeBytes);
  const auto hello = decode_hello(body);
  if (!hello || prefix_of(hello->boot_id) != header.boot_id_prefix) {
    return tl::unexpected(Refusal::kMalformed);
  }
  // Our own, sent back to us.
  if (hello->boot_id == config_.own_boot_id) return tl::unexpected(Refusal::kUnknownSender);

  const auto is_from = [&](const std::optional<Remote>& remote) {
    return remote && remote->boot_id == hello->boot_id;
  };
  if (is_from(peer_) || is_from(candidate_)) {
    Remote& remote = is_from(peer_) ? *peer_ : *candidate_;
    if (const auto refusal = authenticate(remote, remote.hello_key, header, packet)) {
      return tl::unexpected(*refusal);
    }
    on_hello(remote, *hello, now);
  } else {
    if (!derivations_.allow(now)) return tl::unexpected(Refusal::kTooManyHellos);
    Remote remote{.boot_id = hello->boot_id,
                  .hello_key = PacketKey::for_hello(config_.psk, hello->boot_id),
                  .windows = {}};
    if (const auto refusal = authenticate(remote, remote.hello_key, header, packet)) {
      return tl::unexpected(*refusal);
    }
    candidate_ = std::move(remote);
    on_hello(*candidate_, *hello, now);
  }
  return Opened{.header = header, .body = body, .feedback = std::nullopt};
}

void PeerSession::note_sent_at(Remote& remote, std::uint64_t sent_at_ns, Nanoseconds now) {
  if (sent_at_ns <= remote.newest_sent_at_ns) return;  // overtaken
  remote.newest_sent_at_ns = sent_at_ns;
  remote.newest_received_at = now;
}

void PeerSession::on_hello(Remote& remote, const Hello& hello, Nanoseconds now) {
  note_sent_at(remote, hello.sent_at_ns, now);
  const bool echoes_us = hello.echoed_boot_id == config_.own_boot_id;
  if ((!echoes_us || hello.state != HelloState::kComplete) && answers_.allow(now)) remote.echo_wanted = true;
  if (!echoes_us) return;

  const bool from_peer = peer_ && &remote == &*peer_;
  if (!from_peer) {
    if (peer_ && hello.echoed_sent_at_ns <= adopted_at_ns_) return;
    adopt(remote, now);
  }
  clock_.on_echo(hello.echoed_sent_at_ns, hello.echo_delay_ns, now);
  peer_hello_ = hello;
  if (hello.state != HelloState::kSeeking) on_life(now);
}

// `remote` is the candidate.
void PeerSession::adopt(Remote& remote, Nanoseconds now) {
  if (complete_) events_.push_back(PeerEvent::kRestarted);
  complete_ = false;
  ready_ = false;
  keys_ = DataKeys{
      .sending = PacketKey::for_data(config_.psk, config_.own_boot_id, remote.boot_id),
      .receiving = PacketKey::for_data(config_.psk, remote.boot_id, config_.own_boot_id),
  };
  peer_ = std::move(remote);
  candidate_.reset();
  adopted_at_ns_ = stamp(now);
  peer_period_us_ = kAssumedPeriodUs;
  hello_interval_ = kFirstHelloInterval;
}

// The peer has our keys in force: it sealed a feedback with them, or said so in a hello.
void PeerSession::on_life(Nanoseconds now) {
  silent_at_ = now + FeedbackClock::silence_after(peer_period_us_);
  if (!complete_) clock_.start(now);
  complete_ = true;
  if (!ready_) events_.push_back(PeerEvent::kUp);
  ready_ = true;
}

tl::expected<Opened, Refusal> PeerSession::open_data(const Header& header, ByteView packet, Nanoseconds now) {
  if (!peer_ || prefix_of(peer_->boot_id) != header.boot_id_prefix) {
    if (header.boot_id_prefix != prefix_of(config_.own_boot_id)) stranger_at_ = now;
    return tl::unexpected(Refusal::kUnknownSender);
  }
  if (const auto refusal = authenticate(*peer_, keys_->receiving, header, packet)) {
    return tl::unexpected(*refusal);
  }
  Opened opened{.header = header,
                .body = packet.subspan(kHeaderBytes, packet.size() - kEnvelopeBytes),
                .feedback = std::nullopt};
  if (header.type == PacketType::kFeedback) {
    auto feedback = decode_feedback(opened.body);
    if (!feedback) return tl::unexpected(Refusal::kMalformed);
    note_sent_at(*peer_, feedback->sent_at_ns, now);
    clock_.on_echo(feedback->echoed_sent_at_ns, feedback->echo_delay_ns, now);
    peer_period_us_ = feedback->period_us;
    on_life(now);
    opened.feedback = std::move(*feedback);
  }
  if (!ready_) return tl::unexpected(Refusal::kNotReady);
  return opened;
}

// ---- sending ----

bool PeerSession::seal(PacketType type, MutableByteView packet) {
  if (type != PacketType::kHello && !keys_) return false;
  const Header header{.type = type,
                      .lane = config_.lane,
                      .lane_count = config_.lane_count,
                      .boot_id_prefix = prefix_of(config_.own_boot_id),
                      .counter = ++counter_};
  write_header(header, packet);
  const PacketKey& key = type == PacketType::kHello ? own_hello_key_ : keys_->sending;
  return key.seal(header.lane, header.counter, packet);
}

void PeerSession::on_data(Nanoseconds now) {
  // After a pause, hellos come close together again.
  if (!last_data_at_ || now - *last_data_at_ > kDataIsRecent) hello_interval_ = kFirstHelloInterval;
  last_data_at_ = now;
  clock_.on_data(now);
}

// Data to protect, or somebody there who believes that we know each other.
bool PeerSession::hello_wanted(Nanoseconds now) const {
  const auto recent = [&](const std::optional<Nanoseconds>& at) { return at && now - *at <= kDataIsRecent; };
  return !ready_ && (recent(last_data_at_) || recent(stranger_at_));
}

bool PeerSession::hello_due(Nanoseconds now) const {
  if ((peer_ && peer_->echo_wanted) || (candidate_ && candidate_->echo_wanted)) return true;
  return hello_wanted(now) && now >= next_hello_at_;
}

Hello PeerSession::next_hello(Nanoseconds now) {
  // To whom: the one that is waiting for an answer, else whom we know best.
  Remote* to = nullptr;
  if (candidate_ && (candidate_->echo_wanted || !peer_)) {
    to = &*candidate_;
  } else if (peer_) {
    to = &*peer_;
  }
  if (to == nullptr || !to->echo_wanted) {
    next_hello_at_ = now + hello_interval_;
    hello_interval_ = std::min(2 * hello_interval_, kLongestHelloInterval);
  } else {
    next_hello_at_ = std::max(next_hello_at_, now + kFirstHelloInterval);
  }

  Hello hello{.boot_id = config_.own_boot_id,
              .sent_at_ns = stamp(now),
              .classes_digest = config_.classes_digest,
              .capabilities = config_.capabilities,
              .mtu_bytes = config_.mtu_bytes};
  if (to != nullptr) {
    to->echo_wanted = false;
    hello.echoed_boot_id = to->boot_id;
    hello.echoed_sent_at_ns = to->newest_sent_at_ns;
    hello.echo_delay_ns = static_cast<std::uint64_t>((now - to->newest_received_at).count());
    if (peer_ && to == &*peer_) hello.state = complete_ ? HelloState::kComplete : HelloState::kEchoSeen;
  }
  return hello;
}

bool PeerSession::feedback_due(Nanoseconds now) const { return complete_ && now >= clock_.due_at(); }

Feedback PeerSession::next_feedback(Nanoseconds now) {
  Feedback feedback;
  feedback.sequence = ++feedback_sequence_;
  feedback.period_us =
      static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::microseconds>(clock_.send(now)).count());
  feedback.sent_at_ns = stamp(now);
  if (peer_) {
    feedback.echoed_sent_at_ns = peer_->newest_sent_at_ns;
    feedback.echo_delay_ns = static_cast<std::uint64_t>((now - peer_->newest_received_at).count());
  }
  return feedback;
}

// ---- time ----

void PeerSession::tick(Nanoseconds now) {
  if (!ready_ || now < silent_at_) return;
  ready_ = false;
  hello_interval_ = kFirstHelloInterval;
  next_hello_at_ = now;
  events_.push_back(PeerEvent::kDown);
}

Nanoseconds PeerSession::next_deadline(Nanoseconds now) const {
  Nanoseconds next = Nanoseconds::max();
  if (ready_) next = silent_at_;
  if (complete_) next = std::min(next, clock_.due_at());
  if (hello_due(now)) {
    next = std::min(next, now);
  } else if (hello_wanted(now)) {
    next = std::min(next, next_hello_at_);
  }
  return next;
}

std::optional<PeerEvent> PeerSession::next_event() {
  if (events_.empty()) return std::nullopt;
  const PeerEvent event = events_.front();
  events_.pop_front();
  return event;
}

}  // namespace weft::wire
