// Offloads of an interface that change what XDP sees, as its driver reports them.
#pragma once

#include <optional>
#include <string>

namespace weft::dataplane {

struct Offloads {
  bool receive_vlan = false;  // tags are taken out of frames before XDP
  bool lro = false;           // frames are merged before XDP
  bool gro = false;           // frames are merged after native XDP, before generic XDP
  std::string driver;         // "veth", "mlx5_core"; empty when it does not say
};

// nullopt: no such interface in this network namespace, or it cannot be asked.
std::optional<Offloads> read_offloads(const std::string& interface);

}  // namespace weft::dataplane
