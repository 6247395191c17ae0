// What this kernel can do, found by trying it, never by its version. For start-up, `doctor`, and tests, which
// may have one feature pretended missing to see what happens without it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::dataplane {

enum class Feature : std::uint8_t {
  kXdpPrograms,    // BPF programs of type XDP load
  kXdpFragments,   // with the flag for frames in several buffers
  kAfXdp,          // AF_XDP sockets
  kScatterGather,  // AF_XDP sockets receive frames in several descriptors
};
inline constexpr std::size_t kFeatureCount = 4;

struct FeatureInfo {
  Feature feature;
  std::string_view name;         // "af-xdp": what people type
  std::string_view consequence;  // what its absence means
  bool required;                 // weftd cannot run without it
};
const std::array<FeatureInfo, kFeatureCount>& feature_table();
std::optional<Feature> find_feature(std::string_view name);

class Features {
 public:
  // Tries everything; needs the privileges weftd needs.
  static Features probe();

  bool has(Feature feature) const { return present_[static_cast<std::size_t>(feature)]; }
  void pretend_missing(Feature feature) { present_[static_cast<std::size_t>(feature)] = false; }

 private:
  std::array<bool, kFeatureCount> present_{};
};

}  // namespace weft::dataplane
