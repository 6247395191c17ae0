// Overload sheds whole flows to the bridge, newest first: a flow that loses packets inside the agent is worse off
// than one without it, and the older ones get their share back. The rule alone, without the data path, so that
// it can be tested.
#pragma once

#include <cstdint>

namespace weft::daemon {

// One burst that overran a ring is no overload; losses in this many checks in a row are.
inline constexpr int kOverloadedChecks = 3;

class OverloadGuard {
 public:
  // `lost_frames`: all frames ever lost between kernel and agent. True when a flow should be shed now.
  bool check(std::uint64_t lost_frames) {
    const bool losing = lost_frames > lost_frames_;
    lost_frames_ = lost_frames;
    checks_losing_ = losing ? checks_losing_ + 1 : 0;
    return checks_losing_ >= kOverloadedChecks;
  }

 private:
  std::uint64_t lost_frames_ = 0;
  int checks_losing_ = 0;
};

}  // namespace weft::daemon
