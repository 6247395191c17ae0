// Counts stamped frames and their latency, and drops them.
#include "bpf/kernel.h"
#include "tests/perf/stamp.h"

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, LATENCY_BUCKETS);
  __type(key, __u32);
  __type(value, __u64);
} latency_us SEC(".maps");

SEC("xdp.frags")
int sink(struct xdp_md* ctx) {
  struct stamp* stamp = (void*)(long)ctx->data + STAMP_OFFSET;
  if ((void*)(stamp + 1) > (void*)(long)ctx->data_end || stamp->magic != STAMP_MAGIC) return XDP_PASS;
  __u64 us = (bpf_ktime_get_ns() - stamp->sent_ns) / 1000;
  __u32 bucket = us < LATENCY_BUCKETS ? us : LATENCY_BUCKETS - 1;
  __u64* count = bpf_map_lookup_elem(&latency_us, &bucket);
  if (count) *count += 1;
  return XDP_DROP;
}

char _license[] SEC("license") = "Dual BSD/GPL";
