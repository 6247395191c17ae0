// weft_lan and weft_wan: the XDP programs of the two bridge ports. They take what is ours to the AF_XDP
// socket of the receive queue and pass everything else. No CO-RE relocations: they load on kernels without
// BTF.
#include "bpf/classify.h"
#include "bpf/maps.h"
#include "bpf/parse.h"
#include "bpf/weft_abi.h"

static __always_inline void count(__u32 port, __u32 cause, __u32 class_id, __u32 frame_bytes) {
  __u32 index = weft_counter_index(port, cause, class_id & (WEFT_MAX_CLASSES - 1));
  struct weft_count* counter = bpf_map_lookup_elem(&counters, &index);
  if (!counter) return;
  counter->packets += 1;
  counter->bytes += frame_bytes;
}

static __always_inline int pass(__u32 port, __u32 cause, __u32 frame_bytes) {
  count(port, cause, 0, frame_bytes);
  return XDP_PASS;
}

// The peer on the far side of the WAN: the destination of what comes from the lan, the source of what comes
// from the wan.
static __always_inline __u32* find_peer(__u32 port, const struct packet* p) {
  struct weft_prefix_key key = {.prefix_bits = 128};
  key.address = port == WEFT_PORT_LAN ? p->key.dst : p->key.src;
  return bpf_map_lookup_elem(&peers, &key);
}

static __always_inline int is_local(__u32 port, const struct packet* p) {
  struct weft_address near = port == WEFT_PORT_LAN ? p->key.src : p->key.dst;
  return bpf_map_lookup_elem(&local_addresses, &near) != 0;
}

static __always_inline int heartbeat_is_fresh(__u32 queue, __u64 now_ns) {
  volatile __u64* beat = bpf_map_lookup_elem(&heartbeats, &queue);
  if (!beat) return 0;
  // A beat written after now_ns was read on this CPU makes the difference negative: fresh.
  return (__s64)(now_ns - *beat) < (__s64)WEFT_HEARTBEAT_LIMIT_NS;
}

static __always_inline int put_metadata(struct xdp_md* ctx, const struct packet* p, const struct verdict* v,
                                        __u16 peer) {
  if (bpf_xdp_adjust_meta(ctx, -(int)sizeof(struct weft_meta)) != 0) return 0;
  struct weft_meta* meta = (void*)(long)ctx->data_meta;
  if ((void*)(meta + 1) > (void*)(long)ctx->data) return 0;
  meta->magic = WEFT_META_MAGIC;
  meta->class_id = v->tag.class_id;
  meta->level = v->tag.level;
  meta->layer = v->tag.layer;
  meta->reason = v->reason;
  meta->l3_offset = p->l3_offset;
  meta->l4_offset = p->l4_offset;
  meta->flags = (p->ipv6 ? WEFT_META_IPV6 : 0) | (p->key.response ? WEFT_META_RESPONSE : 0);
  meta->peer = peer;
  meta->pad = 0;
  meta->frame_bytes = p->frame_bytes;
  return 1;
}

static __always_inline int handle(struct xdp_md* ctx, __u32 port, void* xsks) {
  __u32 zero = 0;
  struct weft_config* conf = bpf_map_lookup_elem(&config, &zero);
  if (!conf) return XDP_PASS;
  if (conf->mode == WEFT_MODE_BYPASS) return pass(port, WEFT_PASS_BYPASS, bpf_xdp_get_buff_len(ctx));

  struct packet p = {};
  int cause = parse_packet(&p, ctx, conf->udp_port);
  if (cause != PARSED) return pass(port, cause, p.frame_bytes);

  int from_agent = p.udp_dst == conf->udp_port;
  if (from_agent && (port != WEFT_PORT_WAN || !p.weft_magic))
    return pass(port, WEFT_PASS_NOT_WEFT, p.frame_bytes);
  if (p.frame_bytes > conf->max_frame_bytes) return pass(port, WEFT_PASS_TOO_LARGE, p.frame_bytes);
  __u32* peer = find_peer(port, &p);
  if (!peer) return pass(port, WEFT_PASS_NOT_PEER, p.frame_bytes);
  if (conf->role == WEFT_ROLE_HOST && !is_local(port, &p))
    return pass(port, WEFT_PASS_NOT_LOCAL, p.frame_bytes);

  struct verdict v = {.reason = WEFT_REASON_WEFT};
  struct weft_flow* flow = 0;
  __u64 now_ns = bpf_ktime_get_ns();
  if (!from_agent) {
    flow = bpf_map_lookup_elem(&flows, &p.key);
    if (flow && flow->state == WEFT_FLOW_SHED) {
      flow->last_seen_ns = now_ns;
      return pass(port, WEFT_PASS_SHED, p.frame_bytes);
    }
    if (!classify(&p, flow, conf, &v)) return pass(port, WEFT_PASS_NO_TAG, p.frame_bytes);
  }
  if (conf->mode == WEFT_MODE_OBSERVE) {
    count(port, WEFT_OBSERVED, v.tag.class_id, p.frame_bytes);
    return XDP_PASS;
  }

  __u32 queue = ctx->rx_queue_index;
  if (!heartbeat_is_fresh(queue, now_ns)) return pass(port, WEFT_PASS_STALE, p.frame_bytes);
  if (!bpf_map_lookup_elem(xsks, &queue)) return pass(port, WEFT_PASS_NO_SOCKET, p.frame_bytes);
  if (!from_agent && !remember(&p, flow, &v, now_ns))
    return pass(port, WEFT_PASS_FLOW_TABLE_FULL, p.frame_bytes);
  if (!put_metadata(ctx, &p, &v, *peer)) return pass(port, WEFT_PASS_METADATA_REFUSED, p.frame_bytes);
  count(port, v.reason, v.tag.class_id, p.frame_bytes);
  return bpf_redirect_map(xsks, queue, XDP_PASS);
}

SEC("xdp.frags")
int weft_lan(struct xdp_md* ctx) { return handle(ctx, WEFT_PORT_LAN, &xsks_lan); }

SEC("xdp.frags")
int weft_wan(struct xdp_md* ctx) { return handle(ctx, WEFT_PORT_WAN, &xsks_wan); }

char _license[] SEC("license") = "Dual BSD/GPL";
