// Fills the XDP programs' tables from configuration and from what the agent learns, and reads their counters.
// Works on the MapStore seam; no system call of its own.
//
// Called from the control thread. The programs see every single entry change atomically, never a table half
// written: apply() adds and overwrites before it removes, so a reload takes no packet away from a flow that
// stays configured.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "agent/dataplane/map_store.h"
#include "agent/recovery/engine_io.h"
#include "agent/recovery/policy.h"
#include "agent/roce/flow_key.h"
#include "bpf/weft_abi.h"

namespace weft::dataplane {

enum class Mode : std::uint8_t {
  kProtect = WEFT_MODE_PROTECT,
  kObserve = WEFT_MODE_OBSERVE,
  kBypass = WEFT_MODE_BYPASS,
};

// What configuration says about classification.
struct ClassifierTables {
  Mode mode = Mode::kProtect;
  // Host role: only packets of these are ours. Nullopt: gateway.
  std::optional<std::vector<roce::IpAddress>> local_addresses;
  std::uint16_t udp_port = 0;  // of Weft packets
  struct PeerPrefix {
    roce::IpPrefix prefix;
    std::uint16_t peer = 0;  // comes back in weft_meta::peer
  };
  std::vector<PeerPrefix> peers;
  std::array<std::optional<recovery::Tag>, WEFT_DSCP_VALUES> dscp{};
};

// A range of remote memory, as RETHs address it.
struct MemoryRange {
  roce::IpAddress dst;
  std::uint32_t rkey = 0;
  std::uint64_t va = 0;
  std::uint64_t length_bytes = 0;
};

// One counter of the programs, summed over CPUs.
struct CounterValue {
  recovery::Port port = recovery::Port::kLan;
  weft_cause cause = WEFT_TAKEN_MESSAGE;
  recovery::ClassId class_id = 0;
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
};

class Classifier {
 public:
  // `store` outlives the classifier. Frames longer than `max_frame_bytes` are left to the bridge.
  Classifier(MapStore& store, std::uint32_t max_frame_bytes)
      : store_(store), max_frame_bytes_(max_frame_bytes) {}

  // `policy` gives the classes' order of strictness and the class of acknowledgements.
  Status apply(const ClassifierTables& tables, const recovery::PolicyTable& policy);
  Status set_mode(Mode mode);

  Status tag_queue_pair(const roce::IpAddress& dst, std::uint32_t qpn, recovery::Tag tag);
  Status untag_queue_pair(const roce::IpAddress& dst, std::uint32_t qpn);
  Status tag_message(const MemoryRange& range, recovery::Tag tag);
  Status untag_message(const MemoryRange& range);

  // A flow the peer announced: taken from now on whatever its DSCP, its responses too. A shed flow stays shed.
  Status learn_flow(const roce::FlowKey& flow, recovery::Tag tag, recovery::Time now);
  // The announcement holds no longer. A shed flow stays shed.
  Status unlearn_flow(const roce::FlowKey& flow);
  // Leaves a flow to the bridge until forget_flow(). The caller has seen its frames leave our rings first, or
  // the bridge would overtake them.
  Status shed_flow(const roce::FlowKey& flow);
  Status forget_flow(const roce::FlowKey& flow);
  // Removes flows and pairs not seen since `before` (CLOCK_MONOTONIC); returns how many.
  Result<std::size_t> forget_idle(recovery::Time before);
  // The flow taken most recently for the first time: what overload sheds first.
  Result<std::optional<roce::FlowKey>> newest_flow();

  // The counters that are not zero.
  Result<std::vector<CounterValue>> counters();

 private:
  weft_tag abi_tag(recovery::Tag tag) const;
  Status write_config();
  Status search_table(__u16 flag);  // from the first tag on
  Status sync_prefixes(const ClassifierTables& tables);
  Status sync_local_addresses(const ClassifierTables& tables);

  MapStore& store_;
  std::uint32_t max_frame_bytes_;
  recovery::PolicyTable policy_ = recovery::PolicyTable::defaults();
  weft_config config_{};
  std::set<Bytes> prefix_keys_;  // what apply() last wrote
  std::set<Bytes> local_keys_;
};

// How strict a tag is among all of a policy's: 0 the strictest. Smaller fill budgets are stricter, then
// smaller residuals.
std::uint8_t strictness(const recovery::PolicyTable& policy, recovery::Tag tag);

// Address and flow key as the programs spell them.
weft_address abi_address(const roce::IpAddress& address);
weft_flow_key abi_flow_key(const roce::FlowKey& flow);
roce::FlowKey flow_key_from_abi(const weft_flow_key& key);

// The longest-prefix keys that cover a memory range exactly: aligned power-of-two pieces, at most 126.
std::vector<weft_message_key> message_keys(const MemoryRange& range);

// "taken_dscp", "pass_not_peer": for metrics and logs.
std::string_view cause_name(weft_cause cause);

}  // namespace weft::dataplane
