#include "agent/dataplane/datapath.h"

#include <algorithm>

#include <fmt/format.h>

#include "agent/base/clock.h"
#include "agent/dataplane/interface.h"

namespace weft::dataplane {
namespace {

using recovery::Port;

// For a worker to come to an errand: several rounds and the drain.
constexpr auto kHandOverPatience = std::chrono::milliseconds(30);
constexpr auto kFirstBeatPause = std::chrono::microseconds(100);
constexpr auto kFirstBeatPatience = std::chrono::seconds(2);

std::size_t chunks_per_worker(std::size_t hold_bytes, std::uint32_t workers) {
  const std::size_t hold_chunks = hold_bytes / workers / kChunkBytes;
  return (kWorkingChunks + hold_chunks + 1) / 2 * 2;
}

Result<std::uint32_t> common_queues(const DatapathOptions& options) {
  const auto lan = interface_facts(options.lan.interface);
  if (!lan) return fail(lan.error());
  const auto wan = interface_facts(options.wan.interface);
  if (!wan) return fail(wan.error());
  if (lan->receive_queues != wan->receive_queues) {
    return fail(fmt::format("has {} receive queues, but {} has {}", lan->receive_queues,
                            options.wan.interface, wan->receive_queues),
                options.lan.interface,
                fmt::format("'ethtool -L IFACE combined N' with the same N, at most {}", WEFT_MAX_QUEUES));
  }
  if (lan->receive_queues == 0 || lan->receive_queues > WEFT_MAX_QUEUES) {
    return fail(fmt::format("has {} receive queues; 1 to {} work", lan->receive_queues, WEFT_MAX_QUEUES),
                options.lan.interface, "'ethtool -L IFACE combined N'");
  }
  if (!options.cpus.empty() && options.cpus.size() != lan->receive_queues) {
    return fail(fmt::format("{} CPUs given for {} queues", options.cpus.size(), lan->receive_queues),
                "worker.cpus", "one CPU per receive queue, or none");
  }
  return lan->receive_queues;
}

}  // namespace

Result<std::unique_ptr<Datapath>> Datapath::start(const DatapathOptions& options, const Features& features,
                                                  const ClassifierTables& tables,
                                                  const recovery::PolicyTable& policy,
                                                  const ProcessorFactory& make_processor) {
  const auto queues = common_queues(options);
  if (!queues) return fail(queues.error());
  auto programs = XdpPrograms::load(options.flow_capacity);
  if (!programs) return fail(programs.error());
  auto umem = Umem::allocate(chunks_per_worker(options.hold_bytes, *queues) * *queues);
  if (!umem) return fail(umem.error());
  const std::size_t max_frame_bytes =
      features.has(Feature::kScatterGather) ? kMaxFrameBytes : kSingleChunkFrameBytes;
  std::unique_ptr<Datapath> path(
      new Datapath(std::move(*programs), std::move(*umem), static_cast<std::uint32_t>(max_frame_bytes)));
  if (auto done = path->classifier_.apply(tables, policy); !done) return fail(done.error());
  if (auto done = path->create_workers(options, features, *queues, make_processor); !done) {
    return fail(done.error());
  }
  for (const auto& worker : path->workers_) {
    path->threads_.emplace_back(&Worker::run, worker.get());
  }
  const auto give_up = std::chrono::steady_clock::now() + kFirstBeatPatience;
  while (!path->healthy()) {
    if (std::chrono::steady_clock::now() > give_up) return fail("the data-path threads do not start");
    std::this_thread::sleep_for(kFirstBeatPause);
  }
  if (auto done = path->programs_.attach(Port::kLan, options.lan.interface, options.lan.attach); !done) {
    return fail(done.error());
  }
  if (auto done = path->programs_.attach(Port::kWan, options.wan.interface, options.wan.attach); !done) {
    return fail(done.error());
  }
  return path;
}

Status Datapath::create_workers(const DatapathOptions& options, const Features& features,
                                std::uint32_t queues, const ProcessorFactory& make_processor) {
  const std::size_t slice_bytes = umem_.bytes().size() / queues;
  // The first socket owns the UMEM; it lives in the first worker, as long as all others.
  const XskSocket* owner = nullptr;
  for (std::uint32_t queue = 0; queue < queues; ++queue) {
    std::vector<XskSocket> sockets;
    for (const PortOptions* port : {&options.lan, &options.wan}) {
      auto socket = XskSocket::open({port->interface, queue, features.has(Feature::kScatterGather)}, umem_,
                                    !sockets.empty() ? &sockets.front() : owner);
      if (!socket) return fail(socket.error());
      sockets.push_back(std::move(*socket));
    }
    const auto lan_fd = static_cast<std::uint32_t>(sockets[0].fd());
    const auto wan_fd = static_cast<std::uint32_t>(sockets[1].fd());
    const FramePool pool(umem_.bytes().subspan(queue * slice_bytes, slice_bytes), queue * slice_bytes);
    workers_.push_back(std::make_unique<Worker>(
        WorkerOptions{options.busy_poll,
                      options.cpus.empty() ? std::nullopt : std::optional<unsigned>(options.cpus[queue])},
        pool, std::move(sockets[0]), std::move(sockets[1]), programs_.heartbeats()[queue], make_processor));
    owner = &workers_.front()->queue(Port::kLan).socket();
    if (auto done = programs_.update(MapName::kXsksLan, as_bytes(queue), as_bytes(lan_fd)); !done)
      return done;
    if (auto done = programs_.update(MapName::kXsksWan, as_bytes(queue), as_bytes(wan_fd)); !done)
      return done;
  }
  return {};
}

Datapath::~Datapath() { stop(); }

void Datapath::stop() {
  if (!threads_.empty()) static_cast<void>(hand_over([&] { return classifier_.set_mode(Mode::kBypass); }));
  programs_.detach(Port::kLan);
  programs_.detach(Port::kWan);
  for (const auto& worker : workers_) {
    worker->stop();
  }
  for (std::thread& thread : threads_) {
    thread.join();
  }
  threads_.clear();
}

Result<std::vector<QueueStatistics>> Datapath::statistics() const {
  std::vector<QueueStatistics> all;
  for (std::uint32_t queue = 0; queue < workers_.size(); ++queue) {
    for (const Port port : {Port::kLan, Port::kWan}) {
      const PortQueue& port_queue = workers_[queue]->queue(port);
      const auto kernel = port_queue.socket().statistics();
      if (!kernel) return fail(kernel.error());
      all.push_back({port, queue, *kernel, &port_queue.counters()});
    }
  }
  return all;
}

bool Datapath::healthy() const {
  const recovery::Time oldest = monotonic_now() - recovery::Time(WEFT_HEARTBEAT_LIMIT_NS);
  return std::ranges::all_of(workers_, [&](const auto& worker) { return worker->last_beat() > oldest; });
}

std::uint64_t Datapath::stalls() const {
  std::uint64_t sum = 0;
  for (const auto& worker : workers_) {
    sum += worker->stalls();
  }
  return sum;
}

bool Datapath::run_inside(const std::function<void(std::uint32_t, Processor&)>& work,
                          std::chrono::nanoseconds patience) {
  bool all = true;
  for (std::uint32_t number = 0; number < workers_.size(); ++number) {
    const auto of_this = [&](Processor& processor) { work(number, processor); };
    if (threads_.empty()) {
      workers_[number]->run_stopped(of_this);
    } else {
      all &= workers_[number]->run_inside(of_this, patience);
    }
  }
  return all;
}

Status Datapath::hand_over(const std::function<Status()>& change) {
  std::optional<Status> changed;
  for (const auto& worker : workers_) {
    worker->run_inside(
        [&](Processor&) {
          worker->drain();
          if (worker == workers_.back()) changed = change();
        },
        kHandOverPatience);
  }
  // A worker that does not answer has nothing on its way either.
  return changed ? *changed : change();
}

}  // namespace weft::dataplane
