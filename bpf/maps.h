// The programs' maps. Sizes that depend on configuration are set by user space between open and load.
#ifndef WEFT_BPF_MAPS_H
#define WEFT_BPF_MAPS_H

#include "bpf/kernel.h"
#include "bpf/weft_abi.h"

// Every opcode's properties; filled in before loading, constant afterwards.
const volatile struct weft_opcode opcodes[256];

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct weft_config);
} config SEC(".maps");

// CLOCK_MONOTONIC of each queue's data-path thread. Mapped into the agent, so a beat costs no system call.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, WEFT_MAX_QUEUES);
  __uint(map_flags, BPF_F_MMAPABLE);
  __type(key, __u32);
  __type(value, __u64);
} heartbeats SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, WEFT_DSCP_VALUES);
  __type(key, __u32);
  __type(value, struct weft_tag);
} dscp_tags SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 65536);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, struct weft_qp_key);
  __type(value, struct weft_tag);
} qp_tags SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_LPM_TRIE);
  __uint(max_entries, 65536);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, struct weft_message_key);
  __type(value, struct weft_tag);
} message_tags SEC(".maps");

// Value: index of the peer.
struct {
  __uint(type, BPF_MAP_TYPE_LPM_TRIE);
  __uint(max_entries, 4096);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, struct weft_prefix_key);
  __type(value, __u32);
} peers SEC(".maps");

// A set; the value says nothing.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1024);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, struct weft_address);
  __type(value, __u32);
} local_addresses SEC(".maps");

// Not LRU: a flow that user space holds packets of must not be forgotten behind its back. When the table is
// full new flows pass, counted.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 65536);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, struct weft_flow_key);
  __type(value, struct weft_flow);
} flows SEC(".maps");

// Value: CLOCK_MONOTONIC of the last request packet taken.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 65536);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, struct weft_pair_key);
  __type(value, __u64);
} pairs SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, WEFT_COUNTER_ENTRIES);
  __type(key, __u32);
  __type(value, struct weft_count);
} counters SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_XSKMAP);
  __uint(max_entries, WEFT_MAX_QUEUES);
  __type(key, __u32);
  __type(value, __u32);
} xsks_lan SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_XSKMAP);
  __uint(max_entries, WEFT_MAX_QUEUES);
  __type(key, __u32);
  __type(value, __u32);
} xsks_wan SEC(".maps");

#endif
