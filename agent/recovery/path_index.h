// Numbers VLAN stacks in the order in which they are met: the part of a stream's identity that a frame's headers tell.
//
// At most kMaxPaths are told apart; later ones share the last number. Sharing costs repairs, not order or truth: a group
// of blocks never mixes stacks, so those that share one stream end each other's groups.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "agent/roce/flow_key.h"
#include "agent/roce/headers.h"
#include "agent/wire/messages.h"

namespace weft::recovery {

using wire::kMaxPaths;

class PathIndex {
 public:
  std::uint8_t of(const roce::FlowKey& key) { return of(Stack{key.vids, key.vlan_count}); }
  std::uint8_t of(const roce::VlanStack& vlans) {
    Stack stack{.vids = {}, .count = vlans.count};
    for (std::size_t i = 0; i < vlans.count; ++i)
      stack.vids[i] = vlans.tags[i].vid();
    return of(stack);
  }

 private:
  struct Stack {
    std::array<std::uint16_t, roce::kMaxVlanTags> vids{};
    std::uint8_t count = 0;
    friend bool operator==(const Stack&, const Stack&) = default;
  };

  std::uint8_t of(const Stack& stack) {
    const auto found = std::ranges::find(stacks_, stack);
    if (found == stacks_.end() && stacks_.size() < kMaxPaths) {
      stacks_.push_back(stack);
      return static_cast<std::uint8_t>(stacks_.size() - 1);
    }
    return static_cast<std::uint8_t>(std::min<std::ptrdiff_t>(found - stacks_.begin(), kMaxPaths - 1));
  }

  std::vector<Stack> stacks_;
};

}  // namespace weft::recovery
