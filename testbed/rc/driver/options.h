// weft-roce's command line: parsed, checked, and turned into what the endpoint needs. README.md in testbed/rc
// describes every option.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "agent/base/result.h"
#include "agent/base/units.h"
#include "agent/roce/builder.h"
#include "testbed/rc/driver/plan.h"
#include "testbed/rc/work.h"

namespace weft::rc {

enum class Role : std::uint8_t { kRequester, kResponder };

// As typed.
struct Arguments {
  std::string interface, local, peer, peer_mac;
  std::vector<std::string> vlans;
  std::uint64_t messages = 300;
  std::uint64_t warmup = 0;
  std::vector<std::string> message_bytes{"1mib", "4mib"};
  std::vector<std::string> classes{"exact:26"};
  std::string workload;
  std::string op = "write-imm";
  std::uint32_t qps = 1;
  std::uint32_t pmtu = 1024;
  std::string rate = "200mbit";
  std::string window = "2mib";
  std::string timeout = "134ms";
  unsigned retry = 7;
  std::uint32_t ack_every = 16;
  std::optional<std::uint32_t> psn;
  std::uint64_t seed = 1;
  std::string fill_log;
  std::string out = "-";
};

// As meant.
struct Options {
  std::string interface;
  roce::PacketPath path;  // to the peer; source MAC, ToS and source port are still open
  std::vector<MessageSpec> messages;
  PlanOptions plan;
  WorkOp op = WorkOp::kWriteWithImm;
  std::uint64_t rate_bits_per_second = 0;
  std::uint64_t window_bytes = 0;
  Nanoseconds timeout{0};
  unsigned retry_count = 7;
  std::uint32_t ack_every = 16;
  std::string fill_log;  // empty: none
  std::string out;       // "-": stdout
};

void define_options(CLI::App& command, Role role, Arguments& arguments);

// Reads the workload file, if one is named.
Result<Options> check_options(const Arguments& arguments);

// What both ends give a queue pair, from the side of `role`. `local_mac` is the interface's.
QpConfig qp_config(const Options& options, const PlannedQp& qp, Role role, const roce::MacAddress& local_mac);

}  // namespace weft::rc
