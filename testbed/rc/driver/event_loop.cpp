#include "testbed/rc/driver/event_loop.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <poll.h>

#include "agent/base/clock.h"
#include "netem/wake_in_time.h"

namespace weft::rc {
namespace {

// The shortest sleep: the pacer is served in groups of frames, or waking up would cost more than sending.
// Far below any round trip this is used with.
constexpr Nanoseconds kShortestSleep = std::chrono::microseconds(200);
// How often `stop` is looked at when nothing happens.
constexpr Nanoseconds kLongestSleep = std::chrono::milliseconds(100);

}  // namespace

EventLoop::EventLoop(netem::PacketSocket socket, Host& host, Application& application)
    : socket_(std::move(socket)),
      host_(host),
      application_(application),
      rx_(std::make_unique<std::array<FrameBuffer, kBatch>>()),
      tx_(std::make_unique<std::array<FrameBuffer, kBatch>>()) {}

Status EventLoop::run(const std::atomic<bool>& stop) {
  // An adapter does not wait for the programs of its host. Where the machine does not grant it, measurements are
  // noisier.
  netem::wake_in_time();
  application_.start(monotonic_now());
  while (!stop && !application_.finished()) {
    const Result<bool> received = receive();
    if (!received) return fail(received.error());
    host_.advance(monotonic_now());
    const Events events = host_.take_events();
    for (const ReadRequested& read : events.reads)
      application_.serve(read);
    const Result<bool> sent = send();
    if (!sent) return fail(sent.error());
    const bool eventful = !events.completions.empty() || !events.arrivals.empty();
    if (eventful) application_.handle(monotonic_now(), events);
    if (!*received && !*sent && !eventful) wait();
  }
  return {};
}

// True when frames came in.
Result<bool> EventLoop::receive() {
  std::array<netem::PacketSocket::Buffer, kBatch> buffers;
  std::array<netem::PacketSocket::Received, kBatch> frames;
  for (std::size_t i = 0; i < kBatch; ++i) {
    constexpr std::size_t kHeadroom = netem::PacketSocket::kHeadroomBytes;
    buffers[i] = {(*rx_)[i].data() + kHeadroom, (*rx_)[i].size() - kHeadroom};
  }
  const Result<std::size_t> count = socket_.receive(buffers, frames);
  if (!count) return fail(count.error());
  for (const auto& frame : std::span(frames).first(*count)) {
    // A frame longer than its buffer is longer than any RoCE frame. The kernel's receive time, not ours: what
    // this machine's scheduler adds is no property of the path.
    if (frame.complete) host_.receive(frame.at, ByteView(frame.data, frame.frame_bytes));
  }
  return *count > 0;
}

// True when frames went out.
Result<bool> EventLoop::send() {
  if (tx_first_ == tx_count_) {
    tx_first_ = tx_count_ = 0;
    const Nanoseconds now = monotonic_now();
    while (tx_count_ < kBatch) {
      const std::size_t bytes = host_.next_frame(now, (*tx_)[tx_count_]);
      if (bytes == 0) break;
      tx_bytes_[tx_count_++] = bytes;
    }
    if (tx_count_ == 0) return false;
  }
  std::array<std::span<const std::uint8_t>, kBatch> frames;
  for (std::size_t i = tx_first_; i < tx_count_; ++i)
    frames[i] = ByteView((*tx_)[i]).first(tx_bytes_[i]);
  const auto sent = socket_.send(std::span(frames).subspan(tx_first_, tx_count_ - tx_first_));
  if (!sent) return fail(sent.error());
  tx_first_ += sent->frames;
  if (sent->too_long) {
    return fail(
        fmt::format("a frame of {} bytes is beyond the MTU of {}", tx_bytes_[tx_first_], socket_.mtu_bytes()),
        socket_.interface(), "raise the MTU or lower --pmtu");
  }
  return sent->frames > 0;
}

void EventLoop::wait() {
  const Nanoseconds now = monotonic_now();
  Nanoseconds sleep = kLongestSleep;
  if (const auto deadline = host_.next_deadline()) sleep = std::min(sleep, *deadline - now);
  const timespec timeout = to_timespec(std::max(sleep, kShortestSleep));
  const short blocked = tx_first_ < tx_count_ ? POLLOUT : 0;
  pollfd descriptor{.fd = socket_.fd(), .events = static_cast<short>(POLLIN | blocked), .revents = 0};
  ppoll(&descriptor, 1, &timeout, nullptr);
}

}  // namespace weft::rc
