// The loss log: one JSON line per packet the WAN lost, so that a fill, a recovery or a resend can be held
// against what really happened. `cause` is "loss", "queue" (tail drop) or "corrupt" (delivered with a flipped
// bit, which is a loss to whoever checks the ICRC). `t_ns` is CLOCK_MONOTONIC, the same in every namespace.
//
//   {"t_ns":1,"direction":"forward","cause":"loss","kind":"source","ip_bytes":1084,"op":"RC_RDMA_WRITE_MIDDLE",
//    "flow":{"src":"10.1.0.1","dst":"10.2.0.1","dst_qpn":17,"response":false},"psn":5,"fingerprint":"d36b",
//    "icrc":"d36b80c2"}
//
// `op`, `flow`, `psn`, `fingerprint` and `icrc` are null for packets that are not RoCE.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "agent/base/result.h"
#include "agent/base/units.h"
#include "netem/link.h"
#include "netem/packet_kind.h"

namespace weft::netem {

class LossLog {
 public:
  // Replaces the file. Lines are written one by one: a reader never sees half a line.
  static Result<LossLog> create(const std::string& path);

  // Writes a line when `fate` is a loss, nothing otherwise.
  void record(Nanoseconds now, Direction direction, const Classified& packet, std::uint32_t ip_bytes,
              const Fate& fate);

  // Whether everything was written.
  Status finish();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  LossLog(std::unique_ptr<std::FILE, Close> file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}

  std::unique_ptr<std::FILE, Close> file_;
  std::string path_;
};

}  // namespace weft::netem
