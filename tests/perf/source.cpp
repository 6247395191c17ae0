// Sends stamped RoCE frames through an AF_XDP socket: at a rate, or with RATE 0 as fast as they arrive at the sink,
// never more than a window of them under way, as an endpoint would. So the fastest a forwarder can be is found without
// losses, which an agent would answer by leaving the flow to the bridge.
//
//   source INTERFACE SRC_MAC DST_MAC SRC DST FRAME_BYTES RATE_PPS SECONDS ARRIVALS_MAP
// Prints {"sent", "ns"}: frames, and the time from the first to the end.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <bpf/bpf.h>
#include <sys/mman.h>

#include "agent/base/clock.h"
#include "agent/base/unique_fd.h"
#include "agent/dataplane/xsk_socket.h"
#include "agent/roce/builder.h"
#include "tests/perf/stamp.h"

namespace {

using namespace weft;
using dataplane::kChunkBytes;

constexpr std::uint32_t kBatch = 32;
constexpr std::uint32_t kChunks = dataplane::kTxRingEntries;
constexpr std::uint8_t kDscp = 10;
// Several batches of a forwarder, and less than its receive ring holds.
constexpr std::uint64_t kWindow = 512;
// What a paced source that was off its core makes up for. The rest is let go: sent all at once it would be another load than
// the one asked for, and where it overflows a ring that would be the source's doing.
constexpr double kMaxOwed = 16;
// With nothing arriving for this long what is under way is lost.
constexpr std::uint64_t kLostAfterNs = 20'000'000;

std::uint64_t now_ns() { return static_cast<std::uint64_t>(monotonic_now().count()); }

template <class T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
  std::exit(1);
}

roce::MacAddress parse_mac(const char* text) {
  roce::MacAddress mac{};
  for (std::size_t i = 0; i < mac.size(); ++i) {
    mac[i] = static_cast<std::uint8_t>(std::strtoul(text + 3 * i, nullptr, 16));
  }
  return mac;
}

// Frames that have arrived at the sink.
const volatile __u64& arrived_frames(const char* map_id) {
  const UniqueFd map(bpf_map_get_fd_by_id(static_cast<std::uint32_t>(std::strtoul(map_id, nullptr, 10))));
  void* memory = mmap(nullptr, sizeof(arrivals), PROT_READ, MAP_SHARED, map.get(), 0);
  if (memory == MAP_FAILED) {
    std::perror("arrivals");
    std::exit(1);
  }
  return static_cast<const volatile arrivals*>(memory)->frames;
}

// Keeps at most kWindow frames under way.
class Window {
 public:
  explicit Window(const volatile __u64& arrived) : arrived_(arrived), gone_(arrived) {}

  // How many of the next frames may go.
  std::uint64_t open(std::uint64_t sent, std::uint64_t now) {
    const std::uint64_t arrived = arrived_;
    if (arrived != seen_) {
      seen_ = arrived;
      seen_at_ = now;
    } else if (now - seen_at_ > kLostAfterNs) {
      gone_ = arrived - sent;
      seen_at_ = now;
    }
    return kWindow - (sent - (arrived - gone_));
  }

 private:
  const volatile __u64& arrived_;
  std::uint64_t gone_;  // what had arrived before, less what was lost
  std::uint64_t seen_ = 0;
  std::uint64_t seen_at_ = 0;
};

// Lets frames go at a rate, one by one: a batch would be a queue before the first hop.
class Pace {
 public:
  Pace(double rate_pps, std::uint64_t now) : rate_pps_(rate_pps), at_(now) {}

  std::uint64_t due(std::uint64_t now) {
    owed_ = std::min(owed_ + static_cast<double>(now - at_) * 1e-9 * rate_pps_, kMaxOwed);
    at_ = now;
    return static_cast<std::uint64_t>(owed_);
  }
  void sent(std::uint32_t frames) { owed_ -= frames; }

 private:
  double rate_pps_;
  std::uint64_t at_;
  double owed_ = 0;
};

// A frame with everything right but PSN, stamp and ICRC, which each copy gets when it is sent.
Bytes template_frame(char** argv, std::size_t frame_bytes) {
  roce::PacketPath path;
  path.src_mac = parse_mac(argv[2]);
  path.dst_mac = parse_mac(argv[3]);
  path.src = must(roce::IpAddress::parse(argv[4]));
  path.dst = must(roce::IpAddress::parse(argv[5]));
  path.tos = kDscp << 2;
  roce::PacketHeaders headers;
  headers.bth.opcode = roce::Opcode::kRcRdmaWriteMiddle;
  headers.bth.dest_qpn = 0x123;
  const std::size_t payload = (frame_bytes - STAMP_OFFSET - roce::kIcrcBytes) / 4 * 4;
  return roce::build_frame(path, headers, Bytes(payload, 0x5a));
}

void write_frame(std::uint8_t* to, const Bytes& frame, std::uint32_t psn) {
  std::memcpy(to, frame.data(), frame.size());
  store_be24(to + STAMP_OFFSET - 3, psn);
  const stamp mark{STAMP_MAGIC, now_ns()};
  std::memcpy(to + STAMP_OFFSET, &mark, sizeof(mark));
  roce::store_icrc(false, MutableByteView(to, frame.size()).subspan(roce::kEthernetBytes));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 10) {
    std::fprintf(
        stderr,
        "usage: source INTERFACE SRC_MAC DST_MAC SRC DST FRAME_BYTES RATE_PPS SECONDS ARRIVALS_MAP\n");
    return 2;
  }
  const Bytes frame = template_frame(argv, std::strtoul(argv[6], nullptr, 10));
  const double rate = std::strtod(argv[7], nullptr);
  const auto duration_ns = static_cast<std::uint64_t>(std::strtod(argv[8], nullptr) * 1e9);
  const dataplane::Umem umem = must(dataplane::Umem::allocate(kChunks));
  dataplane::XskSocket socket = must(dataplane::XskSocket::open({argv[1], 0, true}, umem, nullptr));

  std::uint32_t free_chunks = kChunks;
  std::uint64_t sent = 0;
  Window window(arrived_frames(argv[9]));
  const std::uint64_t started = now_ns();
  Pace pace(rate, started);
  for (std::uint64_t now = started; now - started < duration_ns; now = now_ns()) {
    const std::uint32_t done = socket.completion().available(kChunks);
    socket.completion().release(done);
    free_chunks += done;
    const std::uint64_t due = rate > 0 ? pace.due(now) : window.open(sent, now);
    const std::uint32_t batch = std::min({static_cast<std::uint32_t>(std::min<std::uint64_t>(due, kBatch)),
                                          free_chunks, socket.tx().free_entries()});
    for (std::uint32_t i = 0; i < batch; ++i) {
      const std::uint64_t address = (sent % kChunks) * kChunkBytes;
      write_frame(umem.bytes().data() + address, frame, static_cast<std::uint32_t>(sent));
      socket.tx().push({address, static_cast<__u32>(frame.size()), 0});
      ++sent;
    }
    pace.sent(batch);
    free_chunks -= batch;
    socket.tx().submit();
    if (socket.tx().outstanding() > 0) socket.kick_transmit();
  }
  std::printf("{\"sent\": %llu, \"ns\": %llu}\n", static_cast<unsigned long long>(sent),
              static_cast<unsigned long long>(now_ns() - started));
  return 0;
}
