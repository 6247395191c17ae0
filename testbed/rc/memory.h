// Memory a host has registered for remote access: rkey -> [va, va + size). The bytes stay the caller's.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "agent/base/bytes.h"

namespace weft::rc {

class Memory {
 public:
  void add_region(std::uint32_t rkey, std::uint64_t va, MutableByteView bytes) {
    regions_[rkey] = Region{va, bytes};
  }

  // The bytes an access names, or nothing when the key is unknown or the range is not inside its region.
  std::optional<MutableByteView> find(std::uint32_t rkey, std::uint64_t va, std::uint64_t bytes) const {
    const auto found = regions_.find(rkey);
    if (found == regions_.end()) return std::nullopt;
    const Region& region = found->second;
    if (va < region.va || va - region.va > region.bytes.size()) return std::nullopt;
    if (bytes > region.bytes.size() - (va - region.va)) return std::nullopt;
    return region.bytes.subspan(va - region.va, bytes);
  }

 private:
  struct Region {
    std::uint64_t va = 0;
    MutableByteView bytes;
  };
  std::unordered_map<std::uint32_t, Region> regions_;
};

}  // namespace weft::rc
