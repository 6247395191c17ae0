#include "agent/ctl/capture_file.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include <fmt/format.h>
#include <pcap/pcap.h>

namespace weft::ctl {
namespace {

std::optional<LinkType> link_type_of(int dlt) {
  switch (dlt) {
    case DLT_EN10MB:
      return LinkType::kEthernet;
    case DLT_LINUX_SLL:
      return LinkType::kLinuxCooked;
    case DLT_LINUX_SLL2:
      return LinkType::kLinuxCooked2;
    case DLT_RAW:
    case DLT_IPV4:
    case DLT_IPV6:
      return LinkType::kRawIp;
    default:
      return std::nullopt;
  }
}

std::string name_of(int dlt) {
  const char* name = pcap_datalink_val_to_name(dlt);
  return name != nullptr ? name : std::to_string(dlt);
}

}  // namespace

void CaptureFile::Close::operator()(pcap* handle) const { pcap_close(handle); }

CaptureFile::CaptureFile(std::string path, std::unique_ptr<pcap, Close> handle, LinkType link)
    : path_(std::move(path)), handle_(std::move(handle)), link_(link) {}

Result<CaptureFile> CaptureFile::open(const std::string& path) {
  std::FILE* file = path == "-" ? stdin : std::fopen(path.c_str(), "rbe");
  if (file == nullptr) return fail_errno("cannot open", path, "give a readable .pcap or .pcapng file");
  std::array<char, PCAP_ERRBUF_SIZE> message{};
  pcap_t* raw = pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, message.data());
  if (raw == nullptr) {
    if (file != stdin) static_cast<void>(std::fclose(file));
    return fail(fmt::format("not a capture file: {}", message.data()), path,
                "give a .pcap or .pcapng file, as tcpdump -w writes it");
  }
  std::unique_ptr<pcap, Close> handle(raw);
  const int dlt = pcap_datalink(raw);
  const auto link = link_type_of(dlt);
  if (!link) {
    return fail(fmt::format("link type {} cannot be decoded", name_of(dlt)), path,
                "capture on an Ethernet interface (EN10MB), or on `any` (LINUX_SLL2)");
  }
  return CaptureFile(path, std::move(handle), *link);
}

Result<std::optional<CapturedPacket>> CaptureFile::next() {
  pcap_pkthdr* header = nullptr;
  const u_char* bytes = nullptr;
  const int status = pcap_next_ex(handle_.get(), &header, &bytes);
  if (status == PCAP_ERROR_BREAK) return std::nullopt;  // the end of the file
  if (status != 1) {
    return fail(pcap_geterr(handle_.get()), fmt::format("{} packet {}", path_, packets_read_ + 1),
                "the file is cut or damaged here; the packets before are good");
  }
  // With nanosecond precision tv_usec counts nanoseconds.
  const auto time = std::chrono::seconds{header->ts.tv_sec} + Nanoseconds{header->ts.tv_usec};
  return CapturedPacket{.number = ++packets_read_,
                        .time = time,
                        .link = link_,
                        .bytes = ByteView(bytes, header->caplen),
                        .wire_bytes = std::max(header->len, header->caplen)};
}

}  // namespace weft::ctl
