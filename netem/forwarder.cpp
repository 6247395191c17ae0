#include "netem/forwarder.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <poll.h>
#include <sched.h>

#include "agent/base/clock.h"
#include "agent/roce/headers.h"
#include "netem/ip_frame.h"
#include "netem/wake_in_time.h"

namespace weft::netem {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Deliveries are gathered for this long: at most 10000 wake-ups a second, and a frame leaves at most this
// much late. A hundredth of the shortest delay anybody emulates with it (10 ms RTT).
constexpr Nanoseconds kTick = microseconds(100);
// While frames are on their way the sockets are read at least this often; their buffers hold half a second.
constexpr Nanoseconds kLongestSleep = milliseconds(1);
// Without anything to deliver, how often the end of the run is looked at. Signals and frames wake at once.
constexpr Nanoseconds kIdleSleep = milliseconds(50);
// Batches read from one side before the other side and the deliveries get their turn.
constexpr int kBatchesPerTurn = 8;
// A full transmit queue is a matter of microseconds; this many yields are milliseconds.
constexpr int kSendAttempts = 1000;
// What may be on its way: 10 Gbit/s x 60 ms, queue included, a few times over.
constexpr std::size_t kMaxFrameBytes = std::size_t{1} << 30;
// Ethernet header and two VLAN tags beyond the MTU, and headroom for the tag the kernel took out.
constexpr std::size_t kBeyondMtuBytes =
    roce::kEthernetBytes + roce::kMaxVlanTags * roce::kVlanTagBytes + PacketSocket::kHeadroomBytes;

}  // namespace

Forwarder::Forwarder(PacketSocket a, PacketSocket b, WanProfile profile, const Options& options,
                     LossLog* loss_log)
    : sockets_{std::move(a), std::move(b)},
      frames_(std::max(sockets_[0].mtu_bytes(), sockets_[1].mtu_bytes()) + kBeyondMtuBytes, kMaxFrameBytes),
      paths_{make_path(Direction::kForward, profile, options.weft_port),
             make_path(Direction::kReverse, profile, options.weft_port)},
      options_(options),
      loss_log_(loss_log) {}

Forwarder::Path Forwarder::make_path(Direction direction, WanProfile& profile, std::uint16_t weft_port) {
  const bool forward = direction == Direction::kForward;
  return Path{.direction = direction,
              .in = sockets_[forward ? 0 : 1],
              .out = sockets_[forward ? 1 : 0],
              .link = Link(std::move(profile.schedules[index(direction)]), profile.seed, direction),
              .classifier = Classifier(weft_port),
              .counters = {},
              .receive_slots = {},
              .deliveries = {}};
}

Status Forwarder::run(const std::atomic<bool>& stop) {
  realtime_ = wake_in_time();  // a WAN does not wait for the programs at its ends
  started_ = monotonic_now();
  while (!stop) {
    for (Path& path : paths_) {
      if (Status received = receive_all(path); !received) return received;
    }
    const Nanoseconds now = monotonic_now();
    elapsed_ = now - started_;
    if (options_.duration != Nanoseconds{0} && elapsed_ >= options_.duration) return {};
    for (Path& path : paths_) {
      if (Status delivered = deliver_due(path, now); !delivered) return delivered;
    }
    sleep_until_next(monotonic_now());
  }
  elapsed_ = monotonic_now() - started_;
  return {};
}

EmulatorDrops Forwarder::drops() {
  EmulatorDrops drops = own_drops_;
  for (PacketSocket& socket : sockets_) {
    const PacketSocket::Drops kernel = socket.drops();
    drops.receive += kernel.received;
    drops.transmit += kernel.transmitted;
  }
  return drops;
}

Status Forwarder::receive_all(Path& path) {
  std::array<PacketSocket::Buffer, PacketSocket::kBatch> buffers;
  std::array<PacketSocket::Received, PacketSocket::kBatch> received;
  for (int batch = 0; batch < kBatchesPerTurn; ++batch) {
    while (path.receive_slots.size() < PacketSocket::kBatch) {
      const auto slot = frames_.acquire();
      if (!slot) break;
      path.receive_slots.push_back(*slot);
    }
    // Without room left, frames wait in the socket and are dropped there, counted by the kernel.
    const std::size_t wanted = path.receive_slots.size();
    for (std::size_t i = 0; i < wanted; ++i) {
      buffers[i] = {.data = frames_.data(path.receive_slots[i]) + PacketSocket::kHeadroomBytes,
                    .room_bytes = frames_.slot_bytes() - PacketSocket::kHeadroomBytes};
    }
    const auto count = path.in.receive(std::span(buffers).first(wanted), std::span(received).first(wanted));
    if (!count) return fail(count.error());
    for (std::size_t i = 0; i < *count; ++i)
      enter(path, path.receive_slots[i], received[i]);
    path.receive_slots.erase(path.receive_slots.begin(),
                             path.receive_slots.begin() + static_cast<std::ptrdiff_t>(*count));
    if (*count < wanted || wanted == 0) return {};
  }
  return {};
}

void Forwarder::enter(Path& path, FrameStore::Slot slot, const PacketSocket::Received& frame) {
  if (!frame.complete || frame.frame_bytes < roce::kEthernetBytes) {
    ++own_drops_.too_long;
    frames_.release(slot);
    return;
  }
  const MutableByteView bytes(frame.data, frame.frame_bytes);
  const IpFrame ip = IpFrame::locate(bytes);
  const Classified packet = path.classifier.classify(bytes, ip);
  // A frame read in this turn may have come before the last one of the previous turn was read, never before
  // it was received; frames received before the start count as received then.
  path.newest_entry = std::max(path.newest_entry, frame.at - started_);
  const Fate fate = path.link.enter(path.newest_entry, {ip.ip_bytes, packet.stream, ip.ect});
  path.counters.count(packet, ip.ip_bytes, fate);
  if (loss_log_ != nullptr)
    loss_log_->record(started_ + path.newest_entry, path.direction, packet, ip.ip_bytes, fate);
  if (fate.outcome != Fate::Outcome::kDelivered) {
    frames_.release(slot);
    return;
  }
  if (fate.ce_marked) mark_ce(ip, bytes);
  if (fate.bleached) bleach_dscp(ip, bytes);
  if (fate.corrupt_bit) flip_bit(ip, bytes, *fate.corrupt_bit);
  const auto offset = static_cast<std::size_t>(frame.data - frames_.data(slot));
  schedule(path, fate.deliver_at, slot, offset, frame.frame_bytes);
  if (!fate.duplicated) return;
  const auto copy = frames_.acquire();
  if (!copy) {
    ++own_drops_.no_memory;
    return;
  }
  std::copy(bytes.begin(), bytes.end(), frames_.data(*copy));
  schedule(path, fate.deliver_at, *copy, 0, frame.frame_bytes);
}

void Forwarder::schedule(Path& path, Nanoseconds at, FrameStore::Slot slot, std::size_t offset,
                         std::size_t frame_bytes) {
  path.deliveries.push({.at = at,
                        .order = next_order_++,
                        .slot = slot,
                        .offset = static_cast<std::uint32_t>(offset),
                        .frame_bytes = static_cast<std::uint32_t>(frame_bytes)});
}

Status Forwarder::deliver_due(Path& path, Nanoseconds now) {
  std::array<std::span<const std::uint8_t>, PacketSocket::kBatch> batch;
  std::array<FrameStore::Slot, PacketSocket::kBatch> slots;
  const auto is_due = [&] { return !path.deliveries.empty() && started_ + path.deliveries.top().at <= now; };
  while (is_due()) {
    std::size_t count = 0;
    for (; count < batch.size() && is_due(); ++count) {
      const Delivery& delivery = path.deliveries.top();
      lateness_.add(now - started_ - delivery.at);
      batch[count] = {frames_.data(delivery.slot) + delivery.offset, delivery.frame_bytes};
      slots[count] = delivery.slot;
      path.deliveries.pop();
    }
    Status sent = send_batch(path, std::span(batch).first(count));
    for (std::size_t i = 0; i < count; ++i)
      frames_.release(slots[i]);
    if (!sent) return sent;
  }
  return {};
}

Status Forwarder::send_batch(Path& path, std::span<const std::span<const std::uint8_t>> frames) {
  for (int attempt = 0; !frames.empty() && attempt < kSendAttempts; ++attempt) {
    const auto sent = path.out.send(frames);
    if (!sent) return fail(sent.error());
    frames = frames.subspan(sent->frames);
    if (sent->too_long) {
      ++own_drops_.too_long;
      frames = frames.subspan(1);
    } else if (!frames.empty()) {
      sched_yield();
    }
  }
  own_drops_.transmit += frames.size();
  return {};
}

void Forwarder::sleep_until_next(Nanoseconds now) {
  std::array<pollfd, 2> readable{pollfd{sockets_[0].fd(), POLLIN, 0}, pollfd{sockets_[1].fd(), POLLIN, 0}};
  const auto wait = [](std::span<pollfd> what, Nanoseconds how_long) {
    const timespec timeout = to_timespec(how_long);
    ppoll(what.data(), what.size(), &timeout, nullptr);
  };
  const bool nothing_due = paths_[0].deliveries.empty() && paths_[1].deliveries.empty();
  const Nanoseconds least_delay = std::min(paths_[0].link.least_delay(), paths_[1].link.least_delay());
  if (nothing_due) {
    wait(readable, kIdleSleep);
    return;
  }
  Nanoseconds next = Nanoseconds::max();
  for (const Path& path : paths_) {
    if (!path.deliveries.empty()) next = std::min(next, started_ + path.deliveries.top().at - now);
  }
  // A frame that arrives meanwhile is due after the least delay at the earliest: above a tick there is no
  // need to be woken by it, it will be read in time.
  if (least_delay < kTick) {
    if (next > Nanoseconds{0}) wait(readable, std::min(next, kLongestSleep));
    return;
  }
  wait({}, std::clamp(next, kTick, std::min(kLongestSleep, std::max(kTick, least_delay))));
}

}  // namespace weft::netem
