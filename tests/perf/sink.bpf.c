// Counts stamped frames and their latency, and an agent's repairs and manifests. The agent's other packets are left for the
// answering peer, which comes for them: it is not woken, and none goes to the stack. Whatever happened here would happen on
// the forwarder's core, as part of its sending, and be taken for the forwarder's own time.
#include "bpf/kernel.h"
#include "tests/perf/stamp.h"

#define UDP_OFFSET (14 + 20)
#define WEFT_OFFSET (UDP_OFFSET + 8)
#define WEFT_UDP_PORT 4793
#define WEFT_MAGIC 0x57454654
#define WEFT_MANIFEST 4
#define WEFT_REPAIR 5

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, LATENCY_BUCKETS);
  __type(key, __u32);
  __type(value, __u64);
} latency_us SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct arrivals);
} arrivals SEC(".maps");

struct weft_packet {
  struct udphdr udp;
  __be32 magic;
  __u8 version;
  __u8 type;
};

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 18);
} control SEC(".maps");

static __always_inline void leave_for_peer(struct xdp_md* ctx) {
  __u64 length = bpf_xdp_get_buff_len(ctx);
  if (length == 0 || length > CONTROL_FRAME_BYTES) return;
  struct control_frame* frame = bpf_ringbuf_reserve(&control, sizeof(*frame), 0);
  if (!frame) return;
  frame->length = length;
  if (bpf_xdp_load_bytes(ctx, 0, frame->bytes, length) < 0) {
    bpf_ringbuf_discard(frame, BPF_RB_NO_WAKEUP);
    return;
  }
  bpf_ringbuf_submit(frame, BPF_RB_NO_WAKEUP);
}

// What a source and a repair for it have in common ends here.
static __always_inline int on_weft_packet(struct xdp_md* ctx, struct arrivals* seen) {
  struct weft_packet* packet = (void*)(long)ctx->data + UDP_OFFSET;
  void* end = (void*)(long)ctx->data_end;
  if ((void*)(packet + 1) > end || packet->udp.dest != bpf_htons(WEFT_UDP_PORT) ||
      packet->magic != bpf_htonl(WEFT_MAGIC))
    return XDP_PASS;
  if (packet->type == WEFT_REPAIR) {
    __sync_fetch_and_add(&seen->repairs, 1);
    __sync_fetch_and_add(&seen->repair_bytes, bpf_ntohs(packet->udp.len) + sizeof(struct iphdr));
  } else if (packet->type == WEFT_MANIFEST) {
    __sync_fetch_and_add(&seen->manifests, 1);
  } else {
    leave_for_peer(ctx);
  }
  return XDP_DROP;
}

SEC("xdp.frags")
int sink(struct xdp_md* ctx) {
  void* data = (void*)(long)ctx->data;
  void* end = (void*)(long)ctx->data_end;
  __u32 zero = 0;
  struct arrivals* seen = bpf_map_lookup_elem(&arrivals, &zero);
  struct stamp* stamp = data + STAMP_OFFSET;
  if (!seen || (void*)(stamp + 1) > end) return XDP_PASS;
  if (stamp->magic != STAMP_MAGIC) return on_weft_packet(ctx, seen);
  __sync_fetch_and_add(&seen->frames, 1);
  __u64 us = (bpf_ktime_get_ns() - stamp->sent_ns) / 1000;
  __u32 bucket = us < LATENCY_BUCKETS ? us : LATENCY_BUCKETS - 1;
  __u64* count = bpf_map_lookup_elem(&latency_us, &bucket);
  if (count) *count += 1;
  return XDP_DROP;
}

char _license[] SEC("license") = "Dual BSD/GPL";
