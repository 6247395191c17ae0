// Sends stamped RoCE frames at a rate, or as fast as it goes, through an AF_XDP socket.
//
//   source INTERFACE SRC_MAC DST_MAC SRC DST FRAME_BYTES RATE_PPS SECONDS     RATE 0: no limit
// Prints {"sent", "cpu_ns"}: frames, and the processor time they took up to the first receiver.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "agent/dataplane/xsk_socket.h"
#include "agent/roce/builder.h"
#include "tests/perf/stamp.h"

namespace {

using namespace weft;
using dataplane::kChunkBytes;

constexpr std::uint32_t kBatch = 32;
constexpr std::uint32_t kChunks = dataplane::kTxRingEntries;
constexpr std::uint8_t kDscp = 10;

std::uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

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
  if (argc != 9) {
    std::fprintf(stderr, "usage: source INTERFACE SRC_MAC DST_MAC SRC DST FRAME_BYTES RATE_PPS SECONDS\n");
    return 2;
  }
  const Bytes frame = template_frame(argv, std::strtoul(argv[6], nullptr, 10));
  const double rate = std::strtod(argv[7], nullptr);
  const auto duration_ns = static_cast<std::uint64_t>(std::strtod(argv[8], nullptr) * 1e9);
  const dataplane::Umem umem = must(dataplane::Umem::allocate(kChunks));
  dataplane::XskSocket socket = must(dataplane::XskSocket::open({argv[1], 0, true}, umem, nullptr));

  std::uint32_t free_chunks = kChunks;
  std::uint64_t sent = 0;
  const std::uint64_t started = now_ns();
  for (std::uint64_t now = started; now - started < duration_ns; now = now_ns()) {
    const std::uint32_t done = socket.completion().available(kChunks);
    socket.completion().release(done);
    free_chunks += done;
    // Paced frames go one by one: a batch would be a queue before the first hop.
    std::uint64_t due = kBatch;
    if (rate > 0) due = static_cast<std::uint64_t>(static_cast<double>(now - started) * 1e-9 * rate) - sent;
    const std::uint32_t batch = std::min({static_cast<std::uint32_t>(std::min<std::uint64_t>(due, kBatch)),
                                          free_chunks, socket.tx().free_entries()});
    for (std::uint32_t i = 0; i < batch; ++i) {
      const std::uint64_t address = (sent % kChunks) * kChunkBytes;
      write_frame(umem.bytes().data() + address, frame, static_cast<std::uint32_t>(sent));
      socket.tx().push({address, static_cast<__u32>(frame.size()), 0});
      ++sent;
    }
    free_chunks -= batch;
    socket.tx().submit();
    if (socket.tx().outstanding() > 0) socket.kick_transmit();
  }
  timespec cpu{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  std::printf("{\"sent\": %llu, \"cpu_ns\": %lld}\n", static_cast<unsigned long long>(sent),
              static_cast<long long>(cpu.tv_sec) * 1'000'000'000 + cpu.tv_nsec);
  return 0;
}
