// The last few packets that were recovered, by name: where order does not tell, a late original is known by this to be
// a second copy.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "agent/recovery/arrivals.h"

namespace weft::recovery {

class RecentNames {
 public:
  void add(const SourceName& name) { names_[next_++ % kNames] = name; }
  bool contains(const SourceName& name) const { return std::ranges::find(names_, name) != names_.end(); }
  void clear() { names_.fill(SourceName()); }

 private:
  static constexpr std::size_t kNames = 64;
  std::array<SourceName, kNames> names_{};
  std::size_t next_ = 0;
};

}  // namespace weft::recovery
