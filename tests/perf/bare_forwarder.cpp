// The yardstick: the least an AF_XDP forwarder between two ports can do. Same sockets, rings and batch as weftd's
// data path; no classification, no metadata, no reference counts, no heartbeat.
//
//   bare_forwarder LAN WAN     until SIGTERM
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <bpf/bpf.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <poll.h>

#include "agent/dataplane/port_queue.h"
#include "agent/dataplane/xsk_socket.h"
#include "redirect_all.skel.h"

namespace {

using namespace weft;
using dataplane::kBatchFrames;
using dataplane::kFillTarget;

volatile std::sig_atomic_t stopping = 0;

template <class T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
  std::exit(1);
}

struct Port {
  redirect_all* program;
  UniqueFd link;
  dataplane::XskSocket socket;
};

Port open_port(const char* interface, const dataplane::Umem& umem, const dataplane::XskSocket* sharing) {
  redirect_all* program = redirect_all__open_and_load();
  if (program == nullptr) std::exit(1);
  dataplane::XskSocket socket = must(dataplane::XskSocket::open({interface, 0, true}, umem, sharing));
  const std::uint32_t queue = 0;
  const int fd = socket.fd();
  bpf_map__update_elem(program->maps.xsks, &queue, sizeof(queue), &fd, sizeof(fd), BPF_ANY);
  LIBBPF_OPTS(bpf_link_create_opts, options);
  options.flags = XDP_FLAGS_DRV_MODE;
  UniqueFd link(bpf_link_create(bpf_program__fd(program->progs.redirect_all),
                                static_cast<int>(if_nametoindex(interface)), BPF_XDP, &options));
  if (!link) {
    std::perror(interface);
    std::exit(1);
  }
  return {program, std::move(link), std::move(socket)};
}

void fill(Port& port, std::uint64_t first_chunk) {
  for (std::uint64_t i = 0; i < kFillTarget; ++i) {
    port.socket.fill().push((first_chunk + i) * dataplane::kChunkBytes);
  }
  port.socket.fill().submit();
}

// One batch from one port to the other; chunks sent come back to the port they were received on.
bool forward(Port& from, Port& to) {
  const std::uint32_t done = to.socket.completion().available(dataplane::kCompletionRingEntries);
  for (std::uint32_t i = 0; i < done; ++i) {
    from.socket.fill().push(to.socket.completion().peek(i) & ~(dataplane::kChunkBytes - 1));
  }
  if (done > 0) {
    to.socket.completion().release(done);
    from.socket.fill().submit();
  }
  const std::uint32_t received =
      from.socket.rx().available(std::min(kBatchFrames, to.socket.tx().free_entries()));
  for (std::uint32_t i = 0; i < received; ++i) {
    to.socket.tx().push(from.socket.rx().peek(i));
  }
  if (received > 0) {
    from.socket.rx().release(received);
    to.socket.tx().submit();
  }
  while (to.socket.tx().outstanding() > 0 && to.socket.kick_transmit()) {
  }
  return received > 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: bare_forwarder LAN WAN\n");
    return 2;
  }
  std::signal(SIGTERM, [](int) { stopping = 1; });
  const dataplane::Umem umem = must(dataplane::Umem::allocate(std::size_t{2} * kFillTarget));
  Port lan = open_port(argv[1], umem, nullptr);
  Port wan = open_port(argv[2], umem, &lan.socket);
  fill(lan, 0);
  fill(wan, kFillTarget);
  std::printf("forwarding\n");
  std::fflush(stdout);
  while (stopping == 0) {
    const bool there = forward(lan, wan);
    const bool back = forward(wan, lan);
    if (there || back) continue;
    pollfd fds[] = {{lan.socket.fd(), POLLIN, 0}, {wan.socket.fd(), POLLIN, 0}};
    poll(fds, 2, 10);
  }
  return 0;
}
