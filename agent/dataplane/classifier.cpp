#include "agent/dataplane/classifier.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <tuple>

#include "agent/roce/headers.h"
#include "agent/wire/format.h"

namespace weft::dataplane {
namespace {

constexpr unsigned kIpv4PrefixShift = 96;  // ::ffff:0:0/96

// What the programs' header has to spell again, since it is C.
static_assert(WEFT_WIRE_MAGIC == wire::kMagic);
static_assert(WEFT_MAX_CLASSES == recovery::kMaxClasses);
static_assert(WEFT_MAX_VLAN_TAGS == roce::kMaxVlanTags);

// The bytes of a map value as an ABI struct; zero when there is no entry.
template <class T>
T from_bytes(ByteView bytes) {
  T value{};
  if (bytes.size() >= sizeof(T)) std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

Bytes to_bytes(ByteView view) { return {view.begin(), view.end()}; }

weft_qp_key qp_key(const roce::IpAddress& dst, std::uint32_t qpn) { return {abi_address(dst), qpn}; }

weft_pair_key pair_key(const roce::FlowKey& flow) {
  return flow.response ? weft_pair_key{abi_address(flow.dst), abi_address(flow.src)}
                       : weft_pair_key{abi_address(flow.src), abi_address(flow.dst)};
}

std::uint64_t monotonic_ns(recovery::Time time) { return static_cast<std::uint64_t>(time.count()); }

weft_message_key message_key(const MemoryRange& range, std::uint64_t va, unsigned free_bits) {
  std::uint8_t wire[12];
  store_be32(wire, range.rkey);
  store_be64(wire + 4, va);
  weft_message_key key{};
  key.prefix_bits = WEFT_MESSAGE_KEY_FIXED_BITS + 64 - free_bits;
  key.dst = abi_address(range.dst);
  std::memcpy(&key.rkey, wire, 4);
  std::memcpy(key.va, wire + 4, 8);
  return key;
}

// Removes what `before` has and `now` lacks.
Status erase_stale(MapStore& store, MapName map, const std::set<Bytes>& before, const std::set<Bytes>& now) {
  for (const Bytes& key : before) {
    if (now.contains(key)) continue;
    if (auto erased = store.erase(map, key); !erased) return erased;
  }
  return {};
}

}  // namespace

std::uint8_t strictness(const recovery::PolicyTable& policy, recovery::Tag tag) {
  const auto order = [](const recovery::LevelPolicy& row) {
    return std::tuple(row.fill_budget, row.target_residual.value_or(1.0));
  };
  const auto mine = order(policy.level(tag));
  std::set<std::tuple<double, double>> stricter;
  for (const recovery::ClassPolicy& row : policy.classes) {
    for (const recovery::LevelPolicy& level : row.levels) {
      if (order(level) < mine) stricter.insert(order(level));
    }
  }
  return static_cast<std::uint8_t>(stricter.size());
}

weft_address abi_address(const roce::IpAddress& address) {
  std::uint8_t wire[16] = {};
  if (address.ipv6) {
    std::memcpy(wire, address.bytes.data(), 16);
  } else {
    wire[10] = wire[11] = 0xff;
    std::memcpy(wire + 12, address.bytes.data(), 4);
  }
  weft_address result{};
  std::memcpy(result.words, wire, sizeof(wire));
  return result;
}

weft_flow_key abi_flow_key(const roce::FlowKey& flow) {
  weft_flow_key key{};
  key.src = abi_address(flow.src);
  key.dst = abi_address(flow.dst);
  key.qpn = flow.dest_qpn;
  key.vids[0] = flow.vids[0];
  key.vids[1] = flow.vids[1];
  key.vlan_count = flow.vlan_count;
  key.response = flow.response ? 1 : 0;
  return key;
}

roce::FlowKey flow_key_from_abi(const weft_flow_key& key) {
  const auto address = [](const weft_address& abi) {
    constexpr std::uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    std::uint8_t wire[16];
    std::memcpy(wire, abi.words, sizeof(wire));
    return std::memcmp(wire, kMapped, sizeof(kMapped)) == 0 ? roce::IpAddress::from_ipv4(wire + 12)
                                                            : roce::IpAddress::from_ipv6(wire);
  };
  roce::FlowKey flow;
  flow.src = address(key.src);
  flow.dst = address(key.dst);
  flow.dest_qpn = key.qpn;
  flow.vids = {key.vids[0], key.vids[1]};
  flow.vlan_count = key.vlan_count;
  flow.response = key.response != 0;
  return flow;
}

std::vector<weft_message_key> message_keys(const MemoryRange& range) {
  std::vector<weft_message_key> keys;
  std::uint64_t va = range.va;
  std::uint64_t left_bytes = range.length_bytes;
  while (left_bytes > 0) {
    // The largest aligned power of two that starts here and fits.
    const unsigned alignment = va == 0 ? 63U : static_cast<unsigned>(std::countr_zero(va));
    const unsigned bits = std::min(alignment, static_cast<unsigned>(std::bit_width(left_bytes)) - 1);
    keys.push_back(message_key(range, va, bits));
    va += std::uint64_t{1} << bits;
    left_bytes -= std::uint64_t{1} << bits;
  }
  return keys;
}

weft_tag Classifier::abi_tag(recovery::Tag tag) const {
  return {tag.class_id, tag.level, tag.layer, strictness(policy_, tag), 1, 0};
}

Status Classifier::write_config() {
  return store_.update(MapName::kConfig, as_bytes(__u32{0}), as_bytes(config_));
}

Status Classifier::apply(const ClassifierTables& tables, const recovery::PolicyTable& policy) {
  policy_ = policy;
  if (auto done = sync_local_addresses(tables); !done) return done;
  if (auto done = sync_prefixes(tables); !done) return done;
  for (__u32 dscp = 0; dscp < WEFT_DSCP_VALUES; ++dscp) {
    const weft_tag tag = tables.dscp[dscp] ? abi_tag(*tables.dscp[dscp]) : weft_tag{};
    if (auto done = store_.update(MapName::kDscpTags, as_bytes(dscp), as_bytes(tag)); !done) return done;
  }
  config_.mode = static_cast<__u32>(tables.mode);
  config_.role = tables.local_addresses ? WEFT_ROLE_HOST : WEFT_ROLE_GATEWAY;
  config_.max_frame_bytes = max_frame_bytes_;
  config_.udp_port = tables.udp_port;
  ++config_.generation;
  config_.exact_tag = abi_tag({.class_id = recovery::kClassExact});
  config_.ack_tag = abi_tag({.class_id = policy_.find("ack").value_or(recovery::kClassExact)});
  return write_config();
}

Status Classifier::sync_prefixes(const ClassifierTables& tables) {
  std::set<Bytes> wanted;
  for (const ClassifierTables::PeerPrefix& entry : tables.peers) {
    weft_prefix_key key{};
    key.prefix_bits = entry.prefix.length_bits + (entry.prefix.base.ipv6 ? 0 : kIpv4PrefixShift);
    key.address = abi_address(entry.prefix.base);
    const __u32 peer = entry.peer;
    if (auto done = store_.update(MapName::kPeers, as_bytes(key), as_bytes(peer)); !done) return done;
    wanted.insert(to_bytes(as_bytes(key)));
  }
  if (auto done = erase_stale(store_, MapName::kPeers, prefix_keys_, wanted); !done) return done;
  prefix_keys_ = std::move(wanted);
  return {};
}

Status Classifier::sync_local_addresses(const ClassifierTables& tables) {
  std::set<Bytes> wanted;
  if (tables.local_addresses) {
    for (const roce::IpAddress& address : *tables.local_addresses) {
      const weft_address key = abi_address(address);
      if (auto done = store_.update(MapName::kLocalAddresses, as_bytes(key), as_bytes(__u32{1})); !done) {
        return done;
      }
      wanted.insert(to_bytes(as_bytes(key)));
    }
  }
  if (auto done = erase_stale(store_, MapName::kLocalAddresses, local_keys_, wanted); !done) return done;
  local_keys_ = std::move(wanted);
  return {};
}

Status Classifier::set_mode(Mode mode) {
  config_.mode = static_cast<__u32>(mode);
  return write_config();
}

Status Classifier::search_table(__u16 flag) {
  if ((config_.flags & flag) != 0) return {};
  config_.flags |= flag;
  return write_config();
}

Status Classifier::tag_queue_pair(const roce::IpAddress& dst, std::uint32_t qpn, recovery::Tag tag) {
  if (auto done = search_table(WEFT_CONFIG_QP_TAGS); !done) return done;
  return store_.update(MapName::kQpTags, as_bytes(qp_key(dst, qpn)), as_bytes(abi_tag(tag)));
}

Status Classifier::untag_queue_pair(const roce::IpAddress& dst, std::uint32_t qpn) {
  return store_.erase(MapName::kQpTags, as_bytes(qp_key(dst, qpn)));
}

Status Classifier::tag_message(const MemoryRange& range, recovery::Tag tag) {
  if (auto done = search_table(WEFT_CONFIG_MESSAGE_TAGS); !done) return done;
  for (const weft_message_key& key : message_keys(range)) {
    if (auto done = store_.update(MapName::kMessageTags, as_bytes(key), as_bytes(abi_tag(tag))); !done) {
      return done;
    }
  }
  return {};
}

Status Classifier::untag_message(const MemoryRange& range) {
  for (const weft_message_key& key : message_keys(range)) {
    if (auto done = store_.erase(MapName::kMessageTags, as_bytes(key)); !done) return done;
  }
  return {};
}

Status Classifier::learn_flow(const roce::FlowKey& flow, recovery::Tag tag, recovery::Time now) {
  const weft_flow_key key = abi_flow_key(flow);
  auto present = store_.lookup(MapName::kFlows, as_bytes(key));
  if (!present) return fail(present.error());
  auto entry = from_bytes<weft_flow>(*present);
  if (present->empty()) {
    entry.created_ns = monotonic_ns(now);
  } else if (entry.state == WEFT_FLOW_SHED) {
    return {};
  }
  entry.last_seen_ns = monotonic_ns(now);
  entry.tag = abi_tag(tag);
  if (auto done = store_.update(MapName::kFlows, as_bytes(key), as_bytes(entry)); !done) return done;
  return store_.update(MapName::kPairs, as_bytes(pair_key(flow)), as_bytes(entry.last_seen_ns));
}

Status Classifier::unlearn_flow(const roce::FlowKey& flow) {
  const weft_flow_key key = abi_flow_key(flow);
  auto present = store_.lookup(MapName::kFlows, as_bytes(key));
  if (!present) return fail(present.error());
  if (present->empty() || from_bytes<weft_flow>(*present).state == WEFT_FLOW_SHED) return {};
  return store_.erase(MapName::kFlows, as_bytes(key));
}

Status Classifier::shed_flow(const roce::FlowKey& flow) {
  const weft_flow_key key = abi_flow_key(flow);
  auto present = store_.lookup(MapName::kFlows, as_bytes(key));
  if (!present) return fail(present.error());
  auto entry = from_bytes<weft_flow>(*present);
  entry.state = WEFT_FLOW_SHED;
  return store_.update(MapName::kFlows, as_bytes(key), as_bytes(entry));
}

Status Classifier::forget_flow(const roce::FlowKey& flow) {
  return store_.erase(MapName::kFlows, as_bytes(abi_flow_key(flow)));
}

Result<std::size_t> Classifier::forget_idle(recovery::Time before) {
  std::size_t forgotten = 0;
  for (const MapName map : {MapName::kFlows, MapName::kPairs}) {
    std::vector<Bytes> keys;
    auto walked = store_.for_each_key(map, [&](ByteView key) { keys.push_back(to_bytes(key)); });
    if (!walked) return fail(walked.error());
    for (const Bytes& key : keys) {
      auto value = store_.lookup(map, key);
      if (!value) return fail(value.error());
      if (value->empty()) continue;
      const std::uint64_t seen_ns = map == MapName::kFlows ? from_bytes<weft_flow>(*value).last_seen_ns
                                                           : from_bytes<std::uint64_t>(*value);
      if (seen_ns >= monotonic_ns(before)) continue;
      if (auto erased = store_.erase(map, key); !erased) return fail(erased.error());
      ++forgotten;
    }
  }
  return forgotten;
}

Result<std::optional<roce::FlowKey>> Classifier::newest_flow() {
  std::optional<roce::FlowKey> newest;
  std::uint64_t newest_ns = 0;
  std::vector<Bytes> keys;
  auto walked = store_.for_each_key(MapName::kFlows, [&](ByteView key) { keys.push_back(to_bytes(key)); });
  if (!walked) return fail(walked.error());
  for (const Bytes& key : keys) {
    auto value = store_.lookup(MapName::kFlows, key);
    if (!value) return fail(value.error());
    const auto entry = from_bytes<weft_flow>(*value);
    if (value->empty() || entry.state == WEFT_FLOW_SHED || entry.created_ns < newest_ns) continue;
    newest_ns = entry.created_ns;
    newest = flow_key_from_abi(from_bytes<weft_flow_key>(key));
  }
  return newest;
}

Result<std::vector<CounterValue>> Classifier::counters() {
  std::vector<CounterValue> values;
  for (__u32 port = 0; port < WEFT_PORT_COUNT; ++port) {
    for (__u32 cause = 0; cause < WEFT_CAUSE_COUNT; ++cause) {
      for (__u32 class_id = 0; class_id < WEFT_MAX_CLASSES; ++class_id) {
        const __u32 index = weft_counter_index(port, cause, class_id);
        auto per_cpu = store_.lookup(MapName::kCounters, as_bytes(index));
        if (!per_cpu) return fail(per_cpu.error());
        CounterValue sum{static_cast<recovery::Port>(port), static_cast<weft_cause>(cause),
                         static_cast<recovery::ClassId>(class_id), 0, 0};
        for (std::size_t at = 0; at + sizeof(weft_count) <= per_cpu->size(); at += sizeof(weft_count)) {
          const auto part = from_bytes<weft_count>(ByteView(*per_cpu).subspan(at));
          sum.packets += part.packets;
          sum.bytes += part.bytes;
        }
        if (sum.packets != 0) values.push_back(sum);
      }
    }
  }
  return values;
}

std::string_view cause_name(weft_cause cause) {
  static constexpr std::array<std::string_view, WEFT_CAUSE_COUNT> kNames = {
      "taken_message",
      "taken_qp",
      "taken_dscp",
      "taken_learned",
      "taken_response",
      "taken_weft",
      "observed",
      "pass_bypass",
      "pass_not_ip",
      "pass_not_udp",
      "pass_not_roce",
      "pass_fragment",
      "pass_ip_options",
      "pass_malformed",
      "pass_unknown_opcode",
      "pass_too_large",
      "pass_unsupported",
      "pass_not_weft",
      "pass_not_peer",
      "pass_not_local",
      "pass_no_tag",
      "pass_shed",
      "pass_stale",
      "pass_no_socket",
      "pass_flow_table_full",
      "pass_metadata_refused",
  };
  return kNames[cause];
}

}  // namespace weft::dataplane
