// Receives stamped frames and an agent's repairs in XDP, and with a key file answers as the agent's peer. For every
// line on standard input it prints what has been seen since the last one:
//
//   {"frames", "repairs", "repair_bytes", "manifests", "p50_us", "p99_us", "peer_ready"}
//
//   sink INTERFACE [KEY_FILE]        prints {"arrivals_map"}, the id for a source to look at, and ends with its input
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/unique_fd.h"
#include "sink.skel.h"
#include "tests/perf/answering_peer.h"
#include "tests/perf/stamp.h"

namespace {

using weft::perf::AnsweringPeer;

// Well below what a peer's silence may last, and below a round trip that would matter.
constexpr int kTickMilliseconds = 2;

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::exit(1);
}

// Per-CPU counts summed up by bucket, and cleared.
std::vector<std::uint64_t> take_histogram(const sink& program) {
  std::vector<std::uint64_t> buckets(LATENCY_BUCKETS);
  const std::vector<std::uint64_t> zeros(static_cast<std::size_t>(libbpf_num_possible_cpus()));
  std::vector<std::uint64_t> per_cpu(zeros.size());
  const std::size_t value_bytes = zeros.size() * sizeof(std::uint64_t);
  for (std::uint32_t bucket = 0; bucket < LATENCY_BUCKETS; ++bucket) {
    bpf_map__lookup_elem(program.maps.latency_us, &bucket, sizeof(bucket), per_cpu.data(), value_bytes, 0);
    for (const std::uint64_t count : per_cpu)
      buckets[bucket] += count;
    if (buckets[bucket] == 0) continue;
    bpf_map__update_elem(program.maps.latency_us, &bucket, sizeof(bucket), zeros.data(), value_bytes,
                         BPF_ANY);
  }
  return buckets;
}

// Nearest rank.
std::size_t percentile(const std::vector<std::uint64_t>& buckets, double fraction) {
  std::uint64_t total = 0;
  for (const std::uint64_t count : buckets)
    total += count;
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket) {
    seen += buckets[bucket];
    if (static_cast<double>(seen) >= fraction * static_cast<double>(total)) return bucket;
  }
  return buckets.size();
}

int hand_to_peer(void* peer, void* data, std::size_t /*bytes*/) {
  const auto& arrived = *static_cast<const control_frame*>(data);
  weft::Bytes frame(arrived.bytes, arrived.bytes + arrived.length);
  if (peer != nullptr) static_cast<AnsweringPeer*>(peer)->receive(frame, weft::monotonic_now());
  return 0;
}

void report(const sink& program, const arrivals& seen, arrivals& before, bool peer_ready) {
  const std::vector<std::uint64_t> buckets = take_histogram(program);
  std::printf(
      "{\"frames\": %llu, \"repairs\": %llu, \"repair_bytes\": %llu, \"manifests\": %llu, \"p50_us\": %zu, "
      "\"p99_us\": %zu, \"peer_ready\": %s}\n",
      seen.frames - before.frames, seen.repairs - before.repairs, seen.repair_bytes - before.repair_bytes,
      seen.manifests - before.manifests, percentile(buckets, 0.5), percentile(buckets, 0.99),
      peer_ready ? "true" : "false");
  std::fflush(stdout);
  before = seen;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: sink INTERFACE [KEY_FILE]\n");
    return 2;
  }
  std::optional<AnsweringPeer> peer;
  if (argc == 3) {
    auto opened = AnsweringPeer::open(argv[1], argv[2]);
    if (!opened) {
      std::fprintf(stderr, "%s\n", opened.error().to_string().c_str());
      return 1;
    }
    peer.emplace(std::move(*opened));
  }
  sink* program = sink__open_and_load();
  if (program == nullptr) return 1;
  void* memory =
      mmap(nullptr, sizeof(arrivals), PROT_READ, MAP_SHARED, bpf_map__fd(program->maps.arrivals), 0);
  if (memory == MAP_FAILED) die("arrivals");
  const auto& seen = *static_cast<const volatile arrivals*>(memory);
  LIBBPF_OPTS(bpf_link_create_opts, options);
  options.flags = XDP_FLAGS_DRV_MODE;
  const weft::UniqueFd link(bpf_link_create(bpf_program__fd(program->progs.sink),
                                            static_cast<int>(if_nametoindex(argv[1])), BPF_XDP, &options));
  if (!link) die(argv[1]);
  bpf_map_info info{};
  std::uint32_t info_bytes = sizeof(info);
  if (bpf_obj_get_info_by_fd(bpf_map__fd(program->maps.arrivals), &info, &info_bytes) != 0) die("arrivals");
  std::printf("{\"arrivals_map\": %u}\n", info.id);
  std::fflush(stdout);

  ring_buffer* control =
      ring_buffer__new(bpf_map__fd(program->maps.control), hand_to_peer, peer ? &*peer : nullptr, nullptr);
  if (control == nullptr) die("control packets");

  arrivals before{};
  pollfd input{STDIN_FILENO, POLLIN, 0};
  for (;;) {
    // As often without a peer: the core is the source's, too.
    poll(&input, 1, kTickMilliseconds);
    ring_buffer__consume(control);
    if (peer) peer->tick(seen.frames, weft::monotonic_now());
    if (input.revents == 0) continue;
    char line[64];
    if (read(STDIN_FILENO, line, sizeof(line)) <= 0) break;
    const arrivals current{seen.frames, seen.repairs, seen.repair_bytes, seen.manifests};
    report(*program, current, before, peer && peer->ready());
  }
  ring_buffer__free(control);
  sink__destroy(program);
  return 0;
}
