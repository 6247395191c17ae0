// Ethernet, 0-2 VLAN tags, IPv4 or IPv6, UDP, and then RoCEv2's BTH or a Weft packet's magic. Reads the first
// buffer of the frame only; headers that are not all in it make the packet malformed, and so passed.
#ifndef WEFT_BPF_PARSE_H
#define WEFT_BPF_PARSE_H

#include "bpf/kernel.h"
#include "bpf/weft_abi.h"

#define ROCE_UDP_PORT 4791
#define BTH_BYTES 12
#define RETH_BYTES 16
#define ICRC_BYTES 4
#define PAD_MASK 0x30                 // in the BTH's second byte
#define IPV4_VERSION_AND_LENGTH 0x45  // version 4, five words: no options
#define IPV4_FRAGMENT_MASK 0x3fff     // more fragments, and the offset
#define IPPROTO_IPV6_FRAGMENT 44

struct vlan_header {
  __be16 tci;
  __be16 ether_type;
};

struct bth {
  __u8 opcode;
  __u8 flags;  // SE, MigReq, pad count (2 bits), TVer (4 bits)
  __be16 pkey;
  __be32 dest_qpn;  // upper byte: FECN, BECN, reserved
  __be32 psn;       // upper byte: AckReq, reserved
};

struct reth {
  __be32 va[2];
  __be32 rkey;
  __be32 length_bytes;
};

// A parsed packet. `key.qpn` and what follows it are set for RoCE packets only.
struct packet {
  struct weft_flow_key key;
  struct reth reth;  // of RDMA WRITE FIRST and ONLY; words as on the wire
  __u32 frame_bytes;
  __u32 psn;
  __u32 payload_bytes;
  __u16 udp_dst;
  __u8 op_flags;
  __u8 dscp;
  __u8 l3_offset;
  __u8 l4_offset;
  __u8 ipv6;
  __u8 weft_magic;  // the UDP payload begins with it
};

#define PARSED (-1)  // not a cause

static __always_inline void set_ipv4(struct weft_address* address, __be32 ipv4) {
  address->words[0] = 0;
  address->words[1] = 0;
  address->words[2] = bpf_htonl(0xffff);
  address->words[3] = ipv4;
}

// Everything below UDP. Returns PARSED or the cause to pass; `*l4` and `*l4_bytes` are the UDP header and
// what the IP header says follows it.
static __always_inline int parse_lower(struct packet* p, void* data, void* data_end, void** l4,
                                       __u32* l4_bytes) {
  struct ethhdr* eth = data;
  if ((void*)(eth + 1) > data_end) return WEFT_PASS_MALFORMED;
  __be16 ether_type = eth->h_proto;
  void* next = eth + 1;
#pragma unroll
  for (int i = 0; i < WEFT_MAX_VLAN_TAGS; ++i) {
    if (ether_type != bpf_htons(ETH_P_8021Q) && ether_type != bpf_htons(ETH_P_8021AD)) break;
    struct vlan_header* vlan = next;
    if ((void*)(vlan + 1) > data_end) return WEFT_PASS_MALFORMED;
    p->key.vids[i] = bpf_ntohs(vlan->tci) & 0x0fff;
    p->key.vlan_count = i + 1;
    ether_type = vlan->ether_type;
    next = vlan + 1;
  }
  p->l3_offset = next - data;

  if (ether_type == bpf_htons(ETH_P_IP)) {
    struct iphdr* ip = next;
    if ((void*)(ip + 1) > data_end) return WEFT_PASS_MALFORMED;
    if (*(__u8*)ip != IPV4_VERSION_AND_LENGTH) {
      return ip->version == 4 && ip->ihl > 5 ? WEFT_PASS_IP_OPTIONS : WEFT_PASS_MALFORMED;
    }
    if (ip->protocol != IPPROTO_UDP) return WEFT_PASS_NOT_UDP;
    if (ip->frag_off & bpf_htons(IPV4_FRAGMENT_MASK)) return WEFT_PASS_FRAGMENT;
    __u32 total = bpf_ntohs(ip->tot_len);
    if (total < sizeof(*ip) || p->l3_offset + total > p->frame_bytes) return WEFT_PASS_MALFORMED;
    *l4_bytes = total - sizeof(*ip);
    p->dscp = ip->tos >> 2;
    set_ipv4(&p->key.src, ip->saddr);
    set_ipv4(&p->key.dst, ip->daddr);
    *l4 = ip + 1;
  } else if (ether_type == bpf_htons(ETH_P_IPV6)) {
    struct ipv6hdr* ip = next;
    if ((void*)(ip + 1) > data_end) return WEFT_PASS_MALFORMED;
    if (ip->version != 6) return WEFT_PASS_MALFORMED;
    if (ip->nexthdr == IPPROTO_IPV6_FRAGMENT) return WEFT_PASS_FRAGMENT;
    if (ip->nexthdr != IPPROTO_UDP) return WEFT_PASS_NOT_UDP;
    *l4_bytes = bpf_ntohs(ip->payload_len);
    if (p->l3_offset + sizeof(*ip) + *l4_bytes > p->frame_bytes) return WEFT_PASS_MALFORMED;
    __be32 first_word;
    __builtin_memcpy(&first_word, ip, sizeof(first_word));
    p->dscp = bpf_ntohl(first_word) >> 22 & 0x3f;
    __builtin_memcpy(&p->key.src, &ip->saddr, sizeof(p->key.src));
    __builtin_memcpy(&p->key.dst, &ip->daddr, sizeof(p->key.dst));
    p->ipv6 = 1;
    *l4 = ip + 1;
  } else {
    return WEFT_PASS_NOT_IP;
  }
  p->l4_offset = *l4 - data;
  return PARSED;
}

// BTH, and the RETH when the opcode begins an RDMA WRITE. `udp_payload` bytes follow the UDP header.
static __always_inline int parse_bth(struct packet* p, struct bth* bth, void* data_end,
                                     __u32 udp_payload_bytes) {
  if ((void*)(bth + 1) > data_end || udp_payload_bytes < BTH_BYTES + ICRC_BYTES) return WEFT_PASS_MALFORMED;
  __u8 opcode = bth->opcode;
  p->op_flags = opcodes[opcode].flags;
  if (!(p->op_flags & WEFT_OP_KNOWN)) return WEFT_PASS_UNKNOWN_OPCODE;
  if (bth->flags & 0x0f) return WEFT_PASS_MALFORMED;  // transport version
  if (!(p->op_flags & WEFT_OP_CONNECTED)) return WEFT_PASS_UNSUPPORTED;
  __u32 overhead = BTH_BYTES + opcodes[opcode].extension_bytes + ((bth->flags & PAD_MASK) >> 4) + ICRC_BYTES;
  if (udp_payload_bytes < overhead) return WEFT_PASS_MALFORMED;
  if ((p->op_flags & WEFT_OP_EMPTY) && ((bth->flags & PAD_MASK) || udp_payload_bytes != overhead)) {
    return WEFT_PASS_MALFORMED;
  }
  p->payload_bytes = udp_payload_bytes - overhead;
  p->key.qpn = bpf_ntohl(bth->dest_qpn) & 0xffffff;
  p->key.response = !!(p->op_flags & WEFT_OP_RESPONSE);
  p->psn = bpf_ntohl(bth->psn) & 0xffffff;
  if ((p->op_flags & WEFT_OP_WRITE) && (p->op_flags & WEFT_OP_WRITE_START)) {
    struct reth* reth = (void*)(bth + 1);
    if ((void*)(reth + 1) > data_end) return WEFT_PASS_MALFORMED;
    p->reth = *reth;
  }
  return PARSED;
}

// The whole packet. A datagram to `weft_port` is PARSED with udp_dst set, whether or not it has the magic.
static __always_inline int parse_packet(struct packet* p, struct xdp_md* ctx, __u16 weft_port) {
  void* data = (void*)(long)ctx->data;
  void* data_end = (void*)(long)ctx->data_end;
  p->frame_bytes = bpf_xdp_get_buff_len(ctx);
  void* l4 = 0;
  __u32 l4_bytes = 0;
  int cause = parse_lower(p, data, data_end, &l4, &l4_bytes);
  if (cause != PARSED) return cause;
  struct udphdr* udp = l4;
  if ((void*)(udp + 1) > data_end || l4_bytes < sizeof(*udp)) return WEFT_PASS_MALFORMED;
  p->udp_dst = bpf_ntohs(udp->dest);
  if (p->udp_dst != ROCE_UDP_PORT && p->udp_dst != weft_port) return WEFT_PASS_NOT_ROCE;
  if (bpf_ntohs(udp->len) != l4_bytes) return WEFT_PASS_MALFORMED;
  __u32 payload_bytes = l4_bytes - sizeof(*udp);
  if (p->udp_dst == ROCE_UDP_PORT) return parse_bth(p, (void*)(udp + 1), data_end, payload_bytes);
  __be32* magic = (void*)(udp + 1);
  p->weft_magic = (void*)(magic + 1) <= data_end && payload_bytes >= sizeof(*magic) &&
                  *magic == bpf_htonl(WEFT_WIRE_MAGIC);
  return PARSED;
}

#endif
