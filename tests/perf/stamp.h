// What a measured frame carries, and what the sink shows of what arrives: source and sink of the benchmarks agree on
// this. The stamp is the first payload bytes of an RDMA WRITE MIDDLE over IPv4 without VLAN tags.
#ifndef WEFT_TESTS_PERF_STAMP_H
#define WEFT_TESTS_PERF_STAMP_H

#include <linux/types.h>

#define STAMP_OFFSET (14 + 20 + 8 + 12)
#define STAMP_MAGIC 0x7374616d70ULL

struct stamp {
  __u64 magic;
  __u64 sent_ns;  // CLOCK_MONOTONIC
};

// Latency histogram: one bucket per microsecond, the last for everything above.
#define LATENCY_BUCKETS 8192

// An agent's packet as it came, for the answering peer.
#define CONTROL_FRAME_BYTES 2048
struct control_frame {
  __u64 length;
  __u8 bytes[CONTROL_FRAME_BYTES];
};

// Since the sink began; in memory that both the sink and a source that knows the map's id can look at.
struct arrivals {
  __u64 frames;  // stamped
  __u64 repairs;
  __u64 repair_bytes;  // at IP level
  __u64 manifests;
};

#endif
