// Who sends what to whom: the messages of a run and the numbers of its queue pairs, as both ends derive them
// from the same arguments. Pure.
//
// Message i belongs to slot i mod slots. A slot has one buffer at the responder, since it has one message in
// flight, and one queue pair per class, so that a class keeps its DSCP and an order of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/base/result.h"
#include "agent/roce/psn.h"

namespace weft::rc {

// A class as the endpoint sees it: a name for the report and a mark on the packets. Two marks of one name
// (levels of a class) have queue pairs of their own and one line in the report.
struct TrafficClass {
  std::string name;
  std::uint8_t dscp = 0;
  friend bool operator==(const TrafficClass&, const TrafficClass&) = default;
};

inline constexpr std::uint32_t kLargestMessageBytes = 1U << 30;  // within the stride of the slots' buffers

struct MessageSpec {
  std::uint32_t bytes = 0;
  TrafficClass traffic_class;
};

// "exact:26"
Result<TrafficClass> parse_class(std::string_view text);

// `count` messages, the same number of each pair of size and class (the first pairs take the remainder),
// shuffled by the seed.
std::vector<MessageSpec> mixed_messages(std::uint64_t count, const std::vector<std::uint32_t>& sizes,
                                        const std::vector<TrafficClass>& classes, std::uint64_t seed);

// JSON Lines: {"bytes":65536,"class":"pp","dscp":18}; further keys are allowed. `where` names the text.
Result<std::vector<MessageSpec>> parse_workload(std::string_view text, std::string_view where);

struct PlannedMessage {
  std::uint64_t id = 0;
  std::uint32_t slot = 0;
  std::uint32_t qp = 0;      // index into Plan::qps
  std::uint64_t number = 0;  // among the messages of its queue pair
  std::uint32_t bytes = 0;
  roce::Psn first_psn{};
};

struct PlannedQp {
  std::uint32_t slot = 0;
  TrafficClass traffic_class;
  std::uint32_t requester_qpn = 0;
  std::uint32_t responder_qpn = 0;
  roce::Psn requester_psn;
  roce::Psn responder_psn;
  std::vector<std::uint64_t> messages;  // ids, in order
};

// Warm-up messages come before all others, one after the other in slot 0, on a queue pair of their own.
inline constexpr std::uint32_t kWarmupMessageBytes = 64 * 1024;

struct PlannedSlot {
  std::uint64_t va = 0;
  std::uint32_t rkey = 0;
  std::uint32_t buffer_bytes = 0;       // its longest message
  std::vector<std::uint64_t> messages;  // ids, in order
};

struct Plan {
  std::vector<PlannedMessage> messages;  // by id
  std::uint64_t warmup_messages = 0;     // the first of them, which no statistics count
  std::vector<PlannedQp> qps;
  std::vector<PlannedSlot> slots;
};

struct PlanOptions {
  std::uint32_t slots = 1;
  std::uint32_t pmtu_bytes = 1024;
  std::optional<std::uint32_t> first_psn;  // of every queue pair; else random
  std::uint64_t seed = 1;
  std::uint64_t warmup_messages = 0;  // to be added in front, marked like the first message
};

// `measured` is not empty.
Plan make_plan(const std::vector<MessageSpec>& measured, const PlanOptions& options);

}  // namespace weft::rc
