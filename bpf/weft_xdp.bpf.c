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

// Whose packet it is: the peer on the far side of the WAN, and in host role one of our addresses on the near
// side. A flow remembers the answer while the tables stay as they are. Returns PARSED or the cause to pass.
static __always_inline int find_owner(__u32 port, const struct packet* p, const struct weft_flow* flow,
                                      const struct weft_config* conf, __u16* peer) {
  if (flow && flow->generation == conf->generation) {
    *peer = flow->peer;
    return PARSED;
  }
  struct weft_prefix_key far = {.prefix_bits = 128};
  far.address = port == WEFT_PORT_LAN ? p->key.dst : p->key.src;
  __u32* found = bpf_map_lookup_elem(&peers, &far);
  if (!found) return WEFT_PASS_NOT_PEER;
  struct weft_address near = port == WEFT_PORT_LAN ? p->key.src : p->key.dst;
  if (conf->role == WEFT_ROLE_HOST && !bpf_map_lookup_elem(&local_addresses, &near))
    return WEFT_PASS_NOT_LOCAL;
  *peer = *found;
  return PARSED;
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
  struct weft_flow* flow = from_agent ? 0 : bpf_map_lookup_elem(&flows, &p.key);
  __u16 peer = 0;
  cause = find_owner(port, &p, flow, conf, &peer);
  if (cause != PARSED) return pass(port, cause, p.frame_bytes);

  struct verdict v = {.reason = WEFT_REASON_WEFT};
  __u64 now_ns = bpf_ktime_get_ns();
  if (flow && flow->state == WEFT_FLOW_SHED) {
    flow->last_seen_ns = now_ns;
    return pass(port, WEFT_PASS_SHED, p.frame_bytes);
  }
  if (!from_agent && !classify(&p, flow, conf, &v)) return pass(port, WEFT_PASS_NO_TAG, p.frame_bytes);
  if (conf->mode == WEFT_MODE_OBSERVE) {
    count(port, WEFT_OBSERVED, v.tag.class_id, p.frame_bytes);
    return XDP_PASS;
  }

  __u32 queue = ctx->rx_queue_index;
  if (!heartbeat_is_fresh(queue, now_ns)) return pass(port, WEFT_PASS_STALE, p.frame_bytes);
  if (!bpf_map_lookup_elem(xsks, &queue)) return pass(port, WEFT_PASS_NO_SOCKET, p.frame_bytes);
  if (!from_agent) {
    flow = remember(&p, flow, &v, now_ns);
    if (!flow) return pass(port, WEFT_PASS_FLOW_TABLE_FULL, p.frame_bytes);
    flow->peer = peer;
    flow->generation = conf->generation;
  }
  if (!put_metadata(ctx, &p, &v, peer)) return pass(port, WEFT_PASS_METADATA_REFUSED, p.frame_bytes);
  count(port, v.reason, v.tag.class_id, p.frame_bytes);
  return bpf_redirect_map(xsks, queue, XDP_PASS);
}

SEC("xdp.frags")
int weft_lan(struct xdp_md* ctx) { return handle(ctx, WEFT_PORT_LAN, &xsks_lan); }

SEC("xdp.frags")
int weft_wan(struct xdp_md* ctx) { return handle(ctx, WEFT_PORT_WAN, &xsks_wan); }

char _license[] SEC("license") = "Dual BSD/GPL";
