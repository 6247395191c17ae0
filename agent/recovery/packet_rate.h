// How fast a stream sends while it sends, and how large its packets are.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "agent/recovery/engine_io.h"

namespace weft::recovery {

// Measured over windows of a fixed number of packets; the fastest of the newest few counts, so that a pause, which
// falls into one of them, does not look like a slow stream. Packets of one batch carry the same time: single gaps mean
// nothing.
class PacketRate {
 public:
  void on_packet(std::size_t ip_bytes, Time now) {
    if (packets_in_window_ == 0) window_start_ = now;
    Window& window = windows_[newest_];
    window.largest_bytes = std::max(window.largest_bytes, ip_bytes);
    if (++packets_in_window_ <= kWindowPackets) return;
    window.span = now - window_start_;
    complete_ = std::min(complete_ + 1, kWindows - 1);
    newest_ = (newest_ + 1) % kWindows;
    // This packet ends one window and starts the next.
    windows_[newest_] = {.span = Time::max(), .largest_bytes = ip_bytes};
    window_start_ = now;
    packets_in_window_ = 1;
  }

  // 0 before the first window is complete.
  double packets_per_second() const {
    if (complete_ == 0) return 0;
    Time shortest = Time::max();
    for (const Window& window : windows_)
      shortest = std::min(shortest, window.span);
    return kWindowPackets / std::max(std::chrono::duration<double>(shortest).count(), 1e-9);
  }

  // The largest packet of late: a full one, where there are any.
  std::size_t largest_bytes() const {
    return std::ranges::max(windows_, {}, &Window::largest_bytes).largest_bytes;
  }

 private:
  static constexpr std::size_t kWindows = 5;
  static constexpr unsigned kWindowPackets = 32;
  struct Window {
    Time span = Time::max();  // of kWindowPackets intervals; unknown while it is the newest
    std::size_t largest_bytes = 0;
  };
  std::array<Window, kWindows> windows_;
  std::size_t newest_ = 0;
  std::size_t complete_ = 0;
  unsigned packets_in_window_ = 0;
  Time window_start_{};
};

}  // namespace weft::recovery
