// bpf: the XDP programs in front of the bridge, and the one contract they share with user space: this header,
// compiled as C for the BPF target and as C++ for the agent. Fixed-width types, explicit padding, no
// pointers.
//
//   lan port ──▶ weft_lan ─┐                                 ┌─▶ AF_XDP socket of that port and queue,
//                          ├─ classify: tag, reason ─ ours? ─┤   with a weft_meta in front of the frame
//   wan port ──▶ weft_wan ─┘                                 └─▶ XDP_PASS: the bridge, as without Weft
//
// Who writes what:
//   config, dscp_tags, qp_tags, message_tags, peers, local_addresses   user space; the programs read
//   heartbeats           the data-path thread of each queue, through mmap; the programs read
//   flows                both: the programs add a flow when they first take a packet of it and note its
//                        messages; user space adds flows the peer announced, sheds flows, and removes those
//                        that are idle
//   pairs                both, likewise: the address pairs between which some flow is protected
//   counters             the programs, per CPU; user space sums
//   xsks_lan, xsks_wan   user space: the socket of each queue
//
// A packet that is not taken is never touched. In doubt the programs pass: without a program, a socket or a
// fresh heartbeat everything goes over the bridge.
//
// Byte order: addresses as on the wire, everything else in host order.
#ifndef WEFT_BPF_WEFT_ABI_H
#define WEFT_BPF_WEFT_ABI_H

#include <linux/types.h>

// A data-path thread writes its heartbeat every millisecond or so; the programs stop trusting it after this.
// Half of the 100 ms within which traffic must flow again when the agent hangs.
#define WEFT_HEARTBEAT_LIMIT_NS 50000000ULL

#define WEFT_MAX_QUEUES 64   // receive queues per port
#define WEFT_MAX_CLASSES 16  // rows of the class table
#define WEFT_DSCP_VALUES 64
#define WEFT_MAX_VLAN_TAGS 2

// PSN runs of tagged messages remembered per flow: go-back-N rewinds into messages still unacknowledged, and
// an endpoint seldom has more of them in flight.
#define WEFT_RUNS_PER_FLOW 8

// A run this many packets away from a flow's present PSN is forgotten, long before PSNs wrap (2^24).
#define WEFT_RUN_EXPIRY_PACKETS (1U << 21)

// First bytes of the UDP payload of every Weft packet: "WEFT". What follows is agent/wire/format.h.
#define WEFT_WIRE_MAGIC 0x57454654U

// IPv6 as it stands; IPv4 as ::ffff:a.b.c.d, so one table serves both.
struct weft_address {
  __u32 words[4];  // network order
};

// What a packet's bytes mean to the job. `valid` 0 is an empty table entry.
struct weft_tag {
  __u8 class_id;
  __u8 level;       // 0-7
  __u16 layer;      // 0: none
  __u8 strictness;  // rank among the classes, 0 the strictest: what wins in doubt
  __u8 valid;
  __u16 pad;
};

enum weft_mode {
  WEFT_MODE_PROTECT = 0,
  WEFT_MODE_OBSERVE = 1,  // classify and count, take nothing
  WEFT_MODE_BYPASS = 2,   // look at nothing
};

// Tables that are empty are not searched for every packet.
#define WEFT_CONFIG_QP_TAGS 0x01
#define WEFT_CONFIG_MESSAGE_TAGS 0x02

enum weft_role {
  WEFT_ROLE_GATEWAY = 0,
  WEFT_ROLE_HOST = 1,  // only packets of local_addresses are ours
};

struct weft_config {
  __u32 mode;             // enum weft_mode
  __u32 role;             // enum weft_role
  __u32 max_frame_bytes;  // longer frames cannot reach a socket whole
  __u16 udp_port;         // of Weft packets
  __u16 flags;            // WEFT_CONFIG_...
  __u32 generation;       // rises when peers or local_addresses change: what flows remember of them is void
  __u32 pad;
  struct weft_tag ack_tag;    // of acknowledgements, whatever made them ours
  struct weft_tag exact_tag;  // of READ data that nothing tags
};

// Why a packet was taken; travels in weft_meta.
enum weft_reason {
  WEFT_REASON_MESSAGE = 0,   // message tag, or the flow's strictest class outside every known message
  WEFT_REASON_QP = 1,        // queue pair tag
  WEFT_REASON_DSCP = 2,      // DSCP table
  WEFT_REASON_LEARNED = 3,   // a flow taken before, or announced by the peer
  WEFT_REASON_RESPONSE = 4,  // ACK, NAK or READ data between two addresses with a protected flow
  WEFT_REASON_WEFT = 5,      // a packet of the peer agent
  WEFT_REASON_COUNT = 6,
};

// What happened to a packet. The first WEFT_REASON_COUNT causes are "taken, for that reason".
enum weft_cause {
  WEFT_TAKEN_MESSAGE = WEFT_REASON_MESSAGE,
  WEFT_TAKEN_QP = WEFT_REASON_QP,
  WEFT_TAKEN_DSCP = WEFT_REASON_DSCP,
  WEFT_TAKEN_LEARNED = WEFT_REASON_LEARNED,
  WEFT_TAKEN_RESPONSE = WEFT_REASON_RESPONSE,
  WEFT_TAKEN_WEFT = WEFT_REASON_WEFT,
  WEFT_OBSERVED,               // would have been taken, but the mode is observe
  WEFT_PASS_BYPASS,            // mode bypass
  WEFT_PASS_NOT_IP,            // another EtherType, or more than two VLAN tags
  WEFT_PASS_NOT_UDP,           // another protocol, or an IPv6 extension header
  WEFT_PASS_NOT_ROCE,          // UDP to another port
  WEFT_PASS_FRAGMENT,          // an IP fragment
  WEFT_PASS_IP_OPTIONS,        // IPv4 with options
  WEFT_PASS_MALFORMED,         // truncated, or lengths that contradict each other
  WEFT_PASS_UNKNOWN_OPCODE,    // reserved or vendor opcode
  WEFT_PASS_TOO_LARGE,         // longer than max_frame_bytes
  WEFT_PASS_UNSUPPORTED,       // UD and CNP: nothing to repair
  WEFT_PASS_NOT_WEFT,          // the Weft port without the magic, or on the lan side
  WEFT_PASS_NOT_PEER,          // no peer prefix on the far side
  WEFT_PASS_NOT_LOCAL,         // host role: not one of our addresses on the near side
  WEFT_PASS_NO_TAG,            // nothing says it is ours
  WEFT_PASS_SHED,              // its flow was shed to the bridge
  WEFT_PASS_STALE,             // the data-path thread has not been heard of
  WEFT_PASS_NO_SOCKET,         // no socket on this queue
  WEFT_PASS_FLOW_TABLE_FULL,   // a new flow, and no room for it
  WEFT_PASS_METADATA_REFUSED,  // the driver has no room for metadata
  WEFT_CAUSE_COUNT,
};

enum weft_port {
  WEFT_PORT_LAN = 0,
  WEFT_PORT_WAN = 1,
  WEFT_PORT_COUNT = 2,
};

struct weft_count {
  __u64 packets;
  __u64 bytes;
};

// Index into the counters array. Causes without a class are counted under class 0.
static inline __u32 weft_counter_index(__u32 port, __u32 cause, __u32 class_id) {
  return (port * WEFT_CAUSE_COUNT + cause) * WEFT_MAX_CLASSES + class_id;
}
#define WEFT_COUNTER_ENTRIES (WEFT_PORT_COUNT * WEFT_CAUSE_COUNT * WEFT_MAX_CLASSES)

// In front of every frame handed to a socket.
struct weft_meta {
  __u32 magic;  // WEFT_META_MAGIC
  __u8 class_id;
  __u8 level;
  __u16 layer;
  __u8 reason;     // enum weft_reason
  __u8 l3_offset;  // of the IP header in the frame
  __u8 l4_offset;  // of the UDP header
  __u8 flags;      // WEFT_META_...
  __u16 peer;      // index of the peer whose prefix matched
  __u16 pad;
  __u32 frame_bytes;  // all buffers of the frame
};
#define WEFT_META_MAGIC 0x574d4554U
#define WEFT_META_IPV6 0x01
#define WEFT_META_RESPONSE 0x02  // ACK, NAK, READ data, atomic response

// Queue pair tags.
struct weft_qp_key {
  struct weft_address dst;
  __u32 qpn;
};

// Message tags: a longest-prefix-match table over (dst, rkey, VA). A VA range is the few aligned
// power-of-two pieces it splits into. Host order would break prefixes, so this key is as on the wire.
struct weft_message_key {
  __u32 prefix_bits;  // of what follows; at least WEFT_MESSAGE_KEY_FIXED_BITS
  struct weft_address dst;
  __u32 rkey;   // network order
  __u32 va[2];  // network order, high word first
};
#define WEFT_MESSAGE_KEY_FIXED_BITS (128 + 32)

// Peer prefixes, IPv4 ones 96 bits longer than written.
struct weft_prefix_key {
  __u32 prefix_bits;
  struct weft_address address;
};

// The ordered flow a packet belongs to: agent/roce/flow_key.h.
struct weft_flow_key {
  struct weft_address src;
  struct weft_address dst;
  __u32 qpn;
  __u16 vids[WEFT_MAX_VLAN_TAGS];  // 12 bits each
  __u8 vlan_count;
  __u8 response;
  __u16 pad;
};

// The PSNs of one message whose RETH was seen: [first_psn, first_psn + packets).
struct weft_run {
  __u32 first_psn;
  __u32 packets;        // 0: empty
  struct weft_tag tag;  // not valid: the message had no tag
};

enum weft_flow_state {
  WEFT_FLOW_TAKEN = 0,
  WEFT_FLOW_SHED = 1,  // passes until user space removes the entry
};

struct weft_flow {
  __u64 created_ns;           // CLOCK_MONOTONIC
  __u64 last_seen_ns;         // of a packet taken or shed
  __u64 pair_noted_ns;        // when its pair was last written: once a second is enough
  struct weft_tag tag;        // the tag it was first taken or announced with
  struct weft_tag strictest;  // over the message tags seen; not valid when none was
  __u8 state;                 // enum weft_flow_state
  __u8 next_run;              // slot the next message is noted in
  __u16 peer;                 // of this generation
  __u32 generation;           // 0: peer is not known yet
  struct weft_run runs[WEFT_RUNS_PER_FLOW];
};

// An ordered pair (requester, responder) of addresses with a protected flow.
struct weft_pair_key {
  struct weft_address requester;
  struct weft_address responder;
};

// Opcode table: agent/roce/opcode.h writes it into the programs' read-only data before they are loaded.
#define WEFT_OP_KNOWN 0x01
#define WEFT_OP_CONNECTED 0x02  // RC or UC
#define WEFT_OP_RESPONSE 0x04   // ACK, READ data, atomic response
#define WEFT_OP_ACK 0x08        // a response without data: ACK, NAK, atomic response
#define WEFT_OP_WRITE 0x10      // RDMA WRITE
#define WEFT_OP_FIRST 0x20      // starts a message of several packets
#define WEFT_OP_ONLY 0x40       // a message of one packet
#define WEFT_OP_EMPTY 0x80      // carries no payload, so no pad either
#define WEFT_OP_WRITE_START (WEFT_OP_FIRST | WEFT_OP_ONLY)  // with WEFT_OP_WRITE: has a RETH after the BTH
struct weft_opcode {
  __u8 flags;
  __u8 extension_bytes;
};

#ifdef __cplusplus
static_assert(sizeof(weft_address) == 16);
static_assert(sizeof(weft_tag) == 8);
static_assert(sizeof(weft_config) == 40);
static_assert(sizeof(weft_count) == 16);
static_assert(sizeof(weft_meta) == 20);
static_assert(sizeof(weft_meta) % 4 == 0 && sizeof(weft_meta) <= 32, "what kernels accept as metadata");
static_assert(sizeof(weft_qp_key) == 20);
static_assert(sizeof(weft_message_key) == 32);
static_assert(sizeof(weft_prefix_key) == 20);
static_assert(sizeof(weft_flow_key) == 44);
static_assert(sizeof(weft_run) == 16);
static_assert(sizeof(weft_flow) == 48 + 16 * WEFT_RUNS_PER_FLOW);
static_assert(sizeof(weft_pair_key) == 32);
static_assert(sizeof(weft_opcode) == 2);
#endif

#endif
