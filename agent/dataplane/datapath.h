// agent/dataplane: packets between the two bridge ports and the agent. This header is the whole of it put
// together; the pieces are
//
//   xdp_programs  loads and attaches bpf/, classifier fills its tables (over map_store, the seam for tests)
//   umem, frame_pool, ring, xsk_socket, port_queue   frames, by reference, between kernel and agent
//   worker        one thread per queue, driving a processor: the recovery engine, or plain forwarding
//   interface, features   what the machine has
//
// Order matters. Start: sockets and threads first, programs last, so nothing is taken before somebody receives
// it. Stop: programs first, so the bridge has the traffic before the threads go, which then send on what they
// have. If the process dies instead, the kernel does the same: the links are not pinned.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "agent/dataplane/classifier.h"
#include "agent/dataplane/features.h"
#include "agent/dataplane/worker.h"
#include "agent/dataplane/xdp_programs.h"

namespace weft::dataplane {

struct PortOptions {
  std::string interface;
  AttachMode attach = AttachMode::kNative;
};

struct DatapathOptions {
  PortOptions lan;
  PortOptions wan;
  std::uint32_t flow_capacity = 65536;
  std::size_t hold_bytes = std::size_t{64} << 20;  // in chunks of 4096, all workers together
  std::chrono::nanoseconds busy_poll{0};
  std::vector<unsigned> cpus;  // one per queue, in order; empty: wherever the scheduler likes
};

// Kernel statistics of one socket and the agent's own counters.
struct QueueStatistics {
  recovery::Port port = recovery::Port::kLan;
  std::uint32_t queue = 0;
  XskStatistics kernel;
  const QueueCounters* agent = nullptr;  // of the worker, valid as long as the datapath
};

class Datapath {
 public:
  // Everything running and attached, or an error and nothing left behind. `make_processor` is called once per
  // queue, on this thread.
  static Result<std::unique_ptr<Datapath>> start(const DatapathOptions& options, const Features& features,
                                                 const ClassifierTables& tables,
                                                 const recovery::PolicyTable& policy,
                                                 const ProcessorFactory& make_processor);
  // Stops if still running.
  ~Datapath();
  Datapath(const Datapath&) = delete;
  Datapath& operator=(const Datapath&) = delete;

  // Detaches, lets the workers send what they have, joins them. Counters stay readable.
  void stop();

  // Control thread only.
  Classifier& classifier() { return classifier_; }
  Result<std::vector<QueueStatistics>> statistics() const;
  // Every worker has beaten its heart within the limit.
  bool healthy() const;
  bool attached(recovery::Port port) const { return programs_.attached(port); }
  std::uint64_t stalls() const;  // times a worker came back after the limit
  // Worker::run_inside for every worker in turn, with its number; false when one did not come to it in time.
  bool run_inside(const std::function<void(std::uint32_t worker, Processor&)>& work,
                  std::chrono::nanoseconds patience);
  // Gives traffic back to the bridge: `change` makes the programs pass what they took. It runs at a moment when nothing
  // that was taken is on its way, or the bridge would overtake it; if there is no such moment, after 10 ms.
  Status hand_over(const std::function<Status()>& change);

 private:
  explicit Datapath(XdpPrograms programs, Umem umem, std::uint32_t max_frame_bytes)
      : programs_(std::move(programs)), umem_(std::move(umem)), classifier_(programs_, max_frame_bytes) {}
  Status create_workers(const DatapathOptions& options, const Features& features, std::uint32_t queues,
                        const ProcessorFactory& make_processor);

  XdpPrograms programs_;
  Umem umem_;
  Classifier classifier_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::thread> threads_;
};

}  // namespace weft::dataplane
