// Reads packets from a capture file (pcap or pcapng), one after the other.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "agent/base/bytes.h"
#include "agent/base/result.h"
#include "agent/base/units.h"

struct pcap;

namespace weft::ctl {

// What stands in front of the IP header.
enum class LinkType : std::uint8_t { kEthernet, kLinuxCooked, kLinuxCooked2, kRawIp };

struct CapturedPacket {
  std::uint64_t number = 0;  // from 1
  Nanoseconds time{0};       // since 1970, UTC
  LinkType link = LinkType::kEthernet;
  ByteView bytes;              // valid until the next call of next()
  std::size_t wire_bytes = 0;  // more than bytes.size() when the capture was cut by its snap length
};

class CaptureFile {
 public:
  // "-" is standard input. Fails when the file cannot be opened, is no capture, or holds a link type without IP
  // or Ethernet headers; the error says where.
  static Result<CaptureFile> open(const std::string& path);

  // The next packet, nothing at the end of the file, or an error when the file ends or breaks inside a packet.
  Result<std::optional<CapturedPacket>> next();

 private:
  struct Close {
    void operator()(pcap* handle) const;
  };

  CaptureFile(std::string path, std::unique_ptr<pcap, Close> handle, LinkType link);

  std::string path_;
  std::unique_ptr<pcap, Close> handle_;
  LinkType link_;
  std::uint64_t packets_read_ = 0;
};

}  // namespace weft::ctl
