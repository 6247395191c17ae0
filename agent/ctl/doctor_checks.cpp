#include "agent/ctl/doctor_checks.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "agent/base/units.h"
#include "agent/dataplane/umem.h"
#include "agent/fec/symbol.h"
#include "agent/roce/headers.h"
#include "agent/wire/repair_list.h"
#include "agent/wire/secrets.h"

namespace weft::ctl {
namespace {

// Of the largest request.
constexpr std::size_t kLargestHeaderBytes = roce::kIpv6Bytes + roce::kUdpBytes + roce::kBthBytes +
                                            roce::kRethBytes + roce::kImmBytes + roce::kIcrcBytes;
constexpr std::size_t kLargestEthernetBytes = roce::kEthernetBytes + roce::kMaxVlanTags * roce::kVlanTagBytes;
// Weft's frame memory at the shipped limits, roughly; below it a kernel that counts locked memory refuses.
constexpr std::uint64_t kFrameMemoryBytes = std::uint64_t{128} << 20;

Finding ok(std::string where, std::string what) {
  return {Verdict::kOk, std::move(where), std::move(what), {}};
}
Finding warn(std::string where, std::string what, std::string hint) {
  return {Verdict::kWarn, std::move(where), std::move(what), std::move(hint)};
}
Finding failed(std::string where, std::string what, std::string hint) {
  return {Verdict::kFailed, std::move(where), std::move(what), std::move(hint)};
}
Finding failed(const Error& error) { return failed(error.where, error.what, error.hint); }

void check_stacking(const control::PortConfig& port, const dataplane::InterfaceFacts& facts, Findings& out) {
  if (facts.made_of.empty()) return;
  const std::string what = fmt::format("is made of {}", fmt::join(facts.made_of, ", "));
  if (port.xdp == control::XdpMode::kGeneric) {
    out.push_back(ok(port.interface, what + "; XDP is attached generically, which works on any device"));
    return;
  }
  // A frame's receive queue stays that of the device below, so a socket bound to this one is not given it.
  out.push_back(failed(port.interface, what + ": native XDP does not reach a socket there",
                       "use the device below as port, or set xdp = \"generic\""));
}

void check_queues(const std::string& interface, const dataplane::InterfaceFacts& facts, Findings& out) {
  if (facts.receive_queues == 1) {
    out.push_back(ok(interface, "one receive queue"));
    return;
  }
  out.push_back(failed(
      interface, fmt::format("has {} receive queues; this version repairs on one", facts.receive_queues),
      fmt::format("'ethtool -L {} combined 1'", interface)));
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return "ok";
    case Verdict::kWarn:
      return "warn";
    case Verdict::kFailed:
      return "FAIL";
  }
  __builtin_unreachable();
}

Findings check_features(const dataplane::Features& features) {
  Findings out;
  for (const dataplane::FeatureInfo& info : dataplane::feature_table()) {
    const std::string where = "kernel";
    if (features.has(info.feature)) {
      out.push_back(ok(where, fmt::format("has {}", info.name)));
      continue;
    }
    const std::string what = fmt::format("lacks {}: {}", info.name, info.consequence);
    out.push_back(info.required ? failed(where, what, "a newer kernel; without root nothing can be tried")
                                : warn(where, what, "a newer kernel, or a smaller path MTU"));
  }
  return out;
}

Findings check_ports(const control::Config& config, const std::filesystem::path& sysfs) {
  Findings out;
  bool both = true;
  for (const control::PortConfig* port : {&config.lan, &config.wan}) {
    const auto facts = dataplane::interface_facts(port->interface, sysfs);
    if (!facts) {
      out.push_back(failed(facts.error()));
      both = false;
      continue;
    }
    check_queues(port->interface, *facts, out);
    check_stacking(*port, *facts, out);
    if (facts->mtu_bytes < config.wan_mtu_bytes) {
      out.push_back(failed(
          port->interface,
          fmt::format("takes {} bytes, but port.wan.mtu is {}", facts->mtu_bytes, config.wan_mtu_bytes),
          fmt::format("'ip link set {} mtu {}', or lower port.wan.mtu", port->interface,
                      config.wan_mtu_bytes)));
    } else {
      out.push_back(ok(port->interface, fmt::format("MTU {}", facts->mtu_bytes)));
    }
  }
  if (!both) return out;
  if (const Status path = dataplane::check_bridge_path(config.lan.interface, config.wan.interface, sysfs);
      !path) {
    out.push_back(failed(path.error()));
  } else {
    out.push_back(ok(config.lan.interface + ", " + config.wan.interface,
                     "ports of one bridge, which forwards when the agent does not"));
  }
  return out;
}

std::uint32_t largest_protected_pmtu(std::uint32_t wan_mtu_bytes) {
  const std::size_t body = wire::max_body_bytes(wan_mtu_bytes, true);
  std::uint32_t largest = 0;
  for (const std::uint32_t pmtu : roce::kPmtus) {
    const std::size_t symbol = fec::kSymbolLengthBytes + kLargestHeaderBytes + pmtu;
    if (wire::repair_body_bytes(0, symbol) <= body) largest = pmtu;
  }
  return largest;
}

Findings check_path_mtu(const control::Config& config, const dataplane::Features& features) {
  Findings out;
  const std::string where = "port.wan.mtu";
  const std::uint32_t pmtu = largest_protected_pmtu(config.wan_mtu_bytes);
  const std::string what = fmt::format("{} bytes protect RoCE path MTUs to {}", config.wan_mtu_bytes, pmtu);
  if (pmtu < 1024) {
    out.push_back(
        warn(where, what, "packets of larger ones pass without repairs; raise the MTU of the path"));
  } else {
    out.push_back(ok(where, what));
  }
  if (config.wan_mtu_bytes + kLargestEthernetBytes > dataplane::kSingleChunkFrameBytes &&
      !features.has(dataplane::Feature::kScatterGather)) {
    out.push_back(warn(where,
                       fmt::format("frames over {} bytes pass unprotected on this kernel",
                                   dataplane::kSingleChunkFrameBytes),
                       "RoCE path MTU 2048 or less, or Linux 6.6"));
  }
  return out;
}

Findings check_offloads(const control::PortConfig& port, const std::optional<dataplane::Offloads>& offloads) {
  const std::string& where = port.interface;
  if (!offloads) {
    return {warn(where, "its offloads cannot be read", fmt::format("look at 'ethtool -k {}'", where))};
  }
  Findings out;
  if (offloads->receive_vlan) {
    out.push_back(warn(where, "the driver takes VLAN tags out of frames before XDP sees them",
                       fmt::format("'ethtool -K {} rxvlan off', where frames are tagged", where)));
  }
  if (offloads->lro) {
    out.push_back(warn(where, "large receive offload merges frames, and drivers refuse native XDP with it",
                       fmt::format("'ethtool -K {} lro off'", where)));
  }
  if (offloads->gro && port.xdp == control::XdpMode::kGeneric) {
    out.push_back(warn(where, "frames may be merged (GRO) before generic XDP sees them",
                       fmt::format("'ethtool -K {} gro off'", where)));
  }
  if (out.empty()) out.push_back(ok(where, "no offload changes frames before XDP"));
  if (offloads->driver == "veth") {
    out.push_back(warn(where, "a veth: the offloads of its peer cannot be seen from here",
                       "on the peer: 'ethtool -K PEER tx off', or frames of its local sockets carry partial "
                       "checksums; 'gro on', if it has no XDP program and frames are redirected to it"));
  }
  return out;
}

Findings check_keys(const control::Config& config) {
  Findings out;
  for (const control::PeerConfig& peer : config.peers) {
    const auto key = wire::read_key_file(peer.key_file);
    out.push_back(key ? ok(peer.key_file, fmt::format("key of peer {}", peer.name)) : failed(key.error()));
  }
  return out;
}

Findings check_memory_lock(std::optional<std::uint64_t> limit_bytes) {
  const std::string where = "RLIMIT_MEMLOCK";
  if (!limit_bytes) return {ok(where, "unlimited")};
  const std::string what = fmt::format("{} KiB", *limit_bytes >> 10);
  if (*limit_bytes >= kFrameMemoryBytes) return {ok(where, what)};
  return {warn(where, what + "; enough only with CAP_IPC_LOCK or a kernel that charges memory cgroups",
               "LimitMEMLOCK=infinity in the unit, or 'ulimit -l unlimited'")};
}

Findings reminders(const control::Config& config) {
  return {
      warn("RoCE hosts",
           fmt::format("their local ACK timeout cannot be seen from here; caps.endpoint_timeout says {}",
                       format_duration(config.caps.endpoint_timeout)),
           "theirs must be as long or longer, and well above the WAN round trip"),
      warn("RoCE hosts", "roce_adp_retrans of ConnectX NICs cannot be seen from here",
           "turn it off there: with it a NIC resends after 2 to 16 ms, whatever its timeout says"),
  };
}

}  // namespace weft::ctl
