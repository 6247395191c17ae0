// Two RC endpoints and the wire between them, in virtual time. What happens to each frame is the test's choice.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "agent/roce/view.h"
#include "testbed/rc/host.h"

namespace weft::test {

inline constexpr std::uint32_t kQpnA = 0x11;
inline constexpr std::uint32_t kQpnB = 0x22;
inline constexpr std::uint32_t kRkey = 0x1234;
inline constexpr std::uint64_t kVa = 0x7f00'0000'1000;

enum class End : std::uint8_t { kA, kB };

// One copy of a frame that will arrive. No copies: lost.
struct Copy {
  Bytes frame;
  Nanoseconds extra_delay{0};
};

// A frame entering the wire; `view` is of it.
struct Sent {
  End from;
  std::uint64_t number;  // of this direction, from 0
  const roce::PacketView& view;
  ByteView frame;
};

struct WorldConfig {
  std::uint64_t rate_bits = 200'000'000;  // of the pacers and of the wire, at IP level
  Nanoseconds one_way_delay = std::chrono::milliseconds(15);
  std::size_t memory_bytes = std::size_t{8} << 20;
  bool ipv6 = false;
};

// Host A has QP kQpnA, host B kQpnB; B has registered memory kVa..., key kRkey. More queue pairs by add_qp_pair().
class World {
 public:
  explicit World(WorldConfig config);

  // Decides about each frame; by default each arrives once.
  std::function<std::vector<Copy>(const Sent&)> fate;

  // Fields besides numbers and addresses are the caller's.
  void connect(rc::QpConfig common, std::uint32_t qpn_a = kQpnA, std::uint32_t qpn_b = kQpnB);

  rc::Host& a() { return a_; }
  rc::Host& b() { return b_; }
  MutableByteView memory() { return memory_; }
  const rc::PayloadPattern& pattern() const { return pattern_; }
  Nanoseconds now() const { return now_; }
  const std::vector<rc::Completion>& completions() const { return completions_; }
  const std::vector<rc::Arrival>& arrivals() const { return arrivals_; }

  // Runs until nothing is in flight and no timer runs, or `until`. Calls on_completion for each.
  void run(Nanoseconds until = std::chrono::hours(1));
  std::function<void(const rc::Completion&)> on_completion;
  std::function<void(const rc::Arrival&)> on_arrival;
  std::function<void(const rc::ReadRequested&)> on_read;

 private:
  struct InFlight {
    Nanoseconds at;
    std::uint64_t order;
    End to;
    Bytes frame;
    friend bool operator<(const InFlight& x, const InFlight& y) {  // for a queue with the earliest on top
      return x.at != y.at ? x.at > y.at : x.order > y.order;
    }
  };
  struct Direction {
    Nanoseconds busy_until{0};
    std::uint64_t frames = 0;
  };

  void drain(End from);
  void dispatch(const rc::Events& events);
  rc::Host& host(End end) { return end == End::kA ? a_ : b_; }

  WorldConfig config_;
  rc::PayloadPattern pattern_;
  Bytes memory_;
  rc::Host a_;
  rc::Host b_;
  Direction directions_[2];
  std::priority_queue<InFlight> in_flight_;
  std::uint64_t order_ = 0;
  Nanoseconds now_{0};
  std::vector<rc::Completion> completions_;
  std::vector<rc::Arrival> arrivals_;
};

}  // namespace weft::test
