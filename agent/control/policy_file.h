// What the [class.*], [fec] and [tags.*] tables say. They stand in weftd.toml and, alone, in policy files, where
// [endpoint] and `agents` come beside them: one reader for both.
//
//   [class.pp]                      # a class of the shipped table changed, or a new one
//   target_residual = 1e-9          # P(packet undelivered after FEC); "none": not coded;
//   uncoded_below_loss = 2.5e-3     # not coded while measured loss is at or below this
//   fill_budget = [0, 1e-4, ...]    # of bytes delivered; each of these four: one number, or one per level 0-7
//   max_fill_per_message = 1e-2     # of the message's bytes
//   after = ["fill", "release"]     # what follows when FEC failed; ends with "release"
//   k = 32                          # a fixed code instead of an adaptive one: k and r together, interleave
//   r = 4                           # besides
//   interleave = 1
//   [fec]
//   max_overhead = 0.25             # of source bytes
//   code = "rs"                     # or "xor"
//   ack_guard = true
//   min_fill_message = "64k"
//   [tags.dscp]
//   10 = "dp-high"                  # class, class:level, or "none"
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "agent/base/toml_reader.h"
#include "agent/recovery/policy.h"

namespace weft::control {

inline constexpr std::size_t kDscpValues = 64;

using DscpTags = std::array<std::optional<recovery::Tag>, kDscpValues>;

// Nothing fillable: that takes an operator's explicit act.
DscpTags default_dscp_tags(const recovery::PolicyTable& policy);

struct TrafficPolicy {
  recovery::PolicyTable classes = recovery::PolicyTable::defaults();
  DscpTags dscp = default_dscp_tags(recovery::PolicyTable::defaults());
};

// The tables as they stand in `root`, on top of what `policy` holds. A [tags.dscp] table replaces all of
// policy.dscp. Errors are left in `root`.
void read_traffic_policy(TomlReader& root, const std::string& path, TrafficPolicy& policy);

enum class EndpointRecovery : std::uint8_t { kGoBackN, kSelectiveRepeat };

// A file of testbed/policies.
struct PolicyFile {
  TrafficPolicy traffic;
  EndpointRecovery endpoint = EndpointRecovery::kGoBackN;
  bool agents = true;
};
Result<PolicyFile> parse_policy_file(std::string_view text, const std::string& path);
Result<PolicyFile> load_policy_file(const std::string& path);

}  // namespace weft::control
