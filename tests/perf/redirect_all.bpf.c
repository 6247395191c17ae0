// Everything to the socket of the queue: what the bare forwarder needs of XDP and no more.
#include "bpf/kernel.h"

struct {
  __uint(type, BPF_MAP_TYPE_XSKMAP);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u32);
} xsks SEC(".maps");

SEC("xdp.frags")
int redirect_all(struct xdp_md* ctx) { return bpf_redirect_map(&xsks, ctx->rx_queue_index, XDP_PASS); }

char _license[] SEC("license") = "Dual BSD/GPL";
