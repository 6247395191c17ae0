// write-random-capture FILE.pcap PACKETS SEED: frames of Weft's builder, for other tools to judge.
#include <cstdio>
#include <cstdlib>

#include <pcap/pcap.h>

#include "agent/base/exit_code.h"
#include "tests/support/random_packet.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: write-random-capture FILE.pcap PACKETS SEED\n", stderr);
    return weft::kExitUsage;
  }
  pcap_t* format = pcap_open_dead(DLT_EN10MB, 65535 + 22);
  pcap_dumper_t* file = pcap_dump_open(format, argv[1]);
  if (file == nullptr) {
    std::fprintf(stderr, "%s\n", pcap_geterr(format));
    return weft::kExitFailed;
  }
  weft::Rng rng(std::strtoull(argv[3], nullptr, 10));
  for (unsigned long packets = std::strtoul(argv[2], nullptr, 10); packets > 0; --packets) {
    const weft::Bytes frame = weft::test::random_packet(rng, 1500).frame();
    const pcap_pkthdr header{.ts = {},
                             .caplen = static_cast<bpf_u_int32>(frame.size()),
                             .len = static_cast<bpf_u_int32>(frame.size())};
    pcap_dump(reinterpret_cast<u_char*>(file), &header, frame.data());
  }
  const bool written = pcap_dump_flush(file) == 0;
  pcap_dump_close(file);
  pcap_close(format);
  return written ? weft::kExitOk : weft::kExitFailed;
}
