// Receives stamped frames in XDP until SIGTERM, then prints {"frames", "p50_us", "p99_us"}.
//
//   sink INTERFACE
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <unistd.h>

#include "agent/base/unique_fd.h"
#include "sink.skel.h"
#include "tests/perf/stamp.h"

namespace {

std::vector<std::uint64_t> read_histogram(const sink& program) {
  std::vector<std::uint64_t> buckets(LATENCY_BUCKETS);
  std::vector<std::uint64_t> per_cpu(static_cast<std::size_t>(libbpf_num_possible_cpus()));
  for (std::uint32_t bucket = 0; bucket < LATENCY_BUCKETS; ++bucket) {
    bpf_map__lookup_elem(program.maps.latency_us, &bucket, sizeof(bucket), per_cpu.data(),
                         per_cpu.size() * sizeof(std::uint64_t), 0);
    for (const std::uint64_t count : per_cpu) {
      buckets[bucket] += count;
    }
  }
  return buckets;
}

// Nearest rank.
std::size_t percentile(const std::vector<std::uint64_t>& buckets, std::uint64_t total, double fraction) {
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket) {
    seen += buckets[bucket];
    if (static_cast<double>(seen) >= fraction * static_cast<double>(total)) return bucket;
  }
  return buckets.size();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: sink INTERFACE\n");
    return 2;
  }
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  sink* program = sink__open_and_load();
  if (program == nullptr) return 1;
  LIBBPF_OPTS(bpf_link_create_opts, options);
  options.flags = XDP_FLAGS_DRV_MODE;
  const weft::UniqueFd link(bpf_link_create(bpf_program__fd(program->progs.sink),
                                            static_cast<int>(if_nametoindex(argv[1])), BPF_XDP, &options));
  if (!link) {
    std::perror(argv[1]);
    return 1;
  }
  std::printf("counting\n");
  std::fflush(stdout);
  int signal_number = 0;
  sigwait(&set, &signal_number);
  const std::vector<std::uint64_t> buckets = read_histogram(*program);
  std::uint64_t total = 0;
  for (const std::uint64_t count : buckets) {
    total += count;
  }
  std::printf("{\"frames\": %llu, \"p50_us\": %zu, \"p99_us\": %zu}\n",
              static_cast<unsigned long long>(total), percentile(buckets, total, 0.5),
              percentile(buckets, total, 0.99));
  sink__destroy(program);
  return 0;
}
