// Whose packet it is and what its bytes mean. First match wins: message tag, queue pair tag, DSCP, a flow
// already taken or announced, a response between two protected addresses.
#ifndef WEFT_BPF_CLASSIFY_H
#define WEFT_BPF_CLASSIFY_H

#include "bpf/maps.h"
#include "bpf/parse.h"

struct verdict {
  struct weft_tag tag;       // of this packet
  struct weft_tag flow_tag;  // of later packets of its flow that nothing else tags
  __u8 reason;
  __u8 note_run;  // the packet starts a WRITE that this flow's runs must remember
  struct weft_run run;
};

static __always_inline __s32 psn_distance(__u32 from, __u32 to) { return (__s32)((to - from) << 8) >> 8; }

static __always_inline void keep_strictest(struct weft_tag* kept, const struct weft_tag* other) {
  if (other && other->valid && (!kept->valid || other->strictness < kept->strictness)) *kept = *other;
}

// The message a WRITE FIRST or ONLY begins: its PSN run and its tag, if it has one. FIRST carries exactly one
// PMTU of payload (IBTA 9.4.4), which tells how many packets follow.
static __always_inline void begin_run(const struct packet* p, const struct weft_config* conf,
                                      struct verdict* v) {
  struct weft_message_key key = {
      .prefix_bits = WEFT_MESSAGE_KEY_FIXED_BITS + 64,
      .dst = p->key.dst,
      .rkey = p->reth.rkey,
      .va = {p->reth.va[0], p->reth.va[1]},
  };
  struct weft_tag* tag = 0;
  if (conf->flags & WEFT_CONFIG_MESSAGE_TAGS) tag = bpf_map_lookup_elem(&message_tags, &key);
  __u32 length_bytes = bpf_ntohl(p->reth.length_bytes);
  v->run.first_psn = p->psn;
  v->run.packets = 1;
  if ((p->op_flags & WEFT_OP_FIRST) && p->payload_bytes > 0 && length_bytes > 0) {
    v->run.packets = (length_bytes - 1) / p->payload_bytes + 1;
  }
  if (tag) v->run.tag = *tag;
}

// The tag of the newest message of the flow that holds this PSN. Returns 1 when a message does.
static __always_inline int find_run(struct weft_flow* flow, __u32 psn, struct weft_tag* tag) {
  __u8 newest = flow->next_run;
#pragma unroll
  for (int age = 1; age <= WEFT_RUNS_PER_FLOW; ++age) {
    struct weft_run* run = &flow->runs[(newest - age) & (WEFT_RUNS_PER_FLOW - 1)];
    if (run->packets == 0) continue;
    __s32 distance = psn_distance(run->first_psn, psn);
    if (distance >= (__s32)WEFT_RUN_EXPIRY_PACKETS || distance <= -(__s32)WEFT_RUN_EXPIRY_PACKETS) {
      run->packets = 0;
      continue;
    }
    if (distance >= 0 && (__u32)distance < run->packets) {
      *tag = run->tag;
      return 1;
    }
  }
  return 0;
}

// Message tags, for requests. Returns 1 when they decide: the packet lies in a tagged message, or its flow
// has tagged messages and the packet is in none of them, which makes it the strictest thing the flow may be.
static __always_inline int classify_message(const struct packet* p, struct weft_flow* flow,
                                            const struct weft_config* conf, const struct weft_tag* qp,
                                            const struct weft_tag* dscp, struct verdict* v) {
  if (p->op_flags & WEFT_OP_WRITE) {
    if (p->op_flags & WEFT_OP_WRITE_START) {
      begin_run(p, conf, v);
      // An untagged message is noted too where tagged ones are: an older run must not claim its PSNs.
      v->note_run = v->run.tag.valid || (flow && flow->strictest.valid);
      if (v->run.tag.valid) v->tag = v->run.tag;
    } else if (flow && flow->strictest.valid) {
      find_run(flow, p->psn, &v->tag);
    }
  }
  if (v->tag.valid) return 1;
  if (!flow || !flow->strictest.valid) return 0;
  v->tag = flow->strictest;
  keep_strictest(&v->tag, qp);
  keep_strictest(&v->tag, dscp);
  return 1;
}

// Returns 1 and fills `v` when something says that the packet is ours.
static __always_inline int classify(const struct packet* p, struct weft_flow* flow,
                                    const struct weft_config* conf, struct verdict* v) {
  const struct weft_tag* qp = 0;
  if (conf->flags & WEFT_CONFIG_QP_TAGS) {
    struct weft_qp_key qp_key = {.dst = p->key.dst, .qpn = p->key.qpn};
    qp = bpf_map_lookup_elem(&qp_tags, &qp_key);
  }
  __u32 dscp_key = p->dscp;
  const struct weft_tag* dscp = bpf_map_lookup_elem(&dscp_tags, &dscp_key);

  if (!p->key.response && classify_message(p, flow, conf, qp, dscp, v)) {
    v->reason = WEFT_REASON_MESSAGE;
  } else if (qp && qp->valid) {
    v->tag = *qp;
    v->reason = WEFT_REASON_QP;
  } else if (dscp && dscp->valid) {
    v->tag = *dscp;
    v->reason = WEFT_REASON_DSCP;
  } else if (flow) {
    v->tag = flow->tag;
    v->reason = WEFT_REASON_LEARNED;
  } else if (p->key.response) {
    struct weft_pair_key pair = {.requester = p->key.dst, .responder = p->key.src};
    if (!bpf_map_lookup_elem(&pairs, &pair)) return 0;
    v->tag = conf->exact_tag;
    v->reason = WEFT_REASON_RESPONSE;
  } else {
    return 0;
  }
  v->flow_tag = v->tag;
  if (p->op_flags & WEFT_OP_ACK) v->tag = conf->ack_tag;
  return 1;
}

// How often the pair of a flow in use is written again; pairs are forgotten after minutes.
#define PAIR_REFRESH_NS 1000000000ULL

static __always_inline int note_pair(const struct packet* p, __u64 now_ns) {
  struct weft_pair_key pair = {.requester = p->key.src, .responder = p->key.dst};
  return bpf_map_update_elem(&pairs, &pair, &now_ns, BPF_ANY) == 0;
}

static __always_inline void note_run(struct weft_flow* flow, const struct weft_run* run) {
  __u8 slot = flow->next_run & (WEFT_RUNS_PER_FLOW - 1);
  __u8 newest = (slot - 1) & (WEFT_RUNS_PER_FLOW - 1);
  // A retransmitted FIRST names the run that is already there.
  if (flow->runs[newest].packets == run->packets && flow->runs[newest].first_psn == run->first_psn) {
    flow->runs[newest].tag = run->tag;
  } else {
    flow->runs[slot] = *run;
    flow->next_run = (slot + 1) & (WEFT_RUNS_PER_FLOW - 1);
  }
  keep_strictest(&flow->strictest, &run->tag);
}

// Notes what was learned from a packet about to be taken. Returns its flow, null when there is no room for it.
// A flow's packets come from one receive queue, so one CPU at a time writes its entry.
static __always_inline struct weft_flow* remember(const struct packet* p, struct weft_flow* flow,
                                                  const struct verdict* v, __u64 now_ns) {
  if (!flow) {
    struct weft_flow fresh = {.created_ns = now_ns, .tag = v->flow_tag};
    if (bpf_map_update_elem(&flows, &p->key, &fresh, BPF_NOEXIST) != 0) return 0;
    flow = bpf_map_lookup_elem(&flows, &p->key);
    if (!flow) return 0;
  }
  flow->last_seen_ns = now_ns;
  if (v->note_run) note_run(flow, &v->run);
  if (!p->key.response && now_ns - flow->pair_noted_ns > PAIR_REFRESH_NS) {
    if (!note_pair(p, now_ns)) return 0;
    flow->pair_noted_ns = now_ns;
  }
  return flow;
}

#endif
