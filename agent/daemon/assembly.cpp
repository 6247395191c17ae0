#include "agent/daemon/assembly.h"

#include <fmt/format.h>

#include "agent/dataplane/interface.h"
#include "agent/wire/secrets.h"

namespace weft::daemon {
namespace {

dataplane::PortOptions port_options(const control::PortConfig& port) {
  return {port.interface, port.xdp == control::XdpMode::kNative ? dataplane::AttachMode::kNative
                                                                : dataplane::AttachMode::kGeneric};
}

dataplane::Mode datapath_mode(control::Mode mode) {
  switch (mode) {
    case control::Mode::kProtect:
      return dataplane::Mode::kProtect;
    case control::Mode::kObserve:
      return dataplane::Mode::kObserve;
    case control::Mode::kBypass:
      return dataplane::Mode::kBypass;
  }
  __builtin_unreachable();
}

}  // namespace

dataplane::DatapathOptions datapath_options(const control::Config& config) {
  return {.lan = port_options(config.lan),
          .wan = port_options(config.wan),
          .flow_capacity = config.caps.flows,
          .hold_bytes = config.caps.hold_bytes,
          .busy_poll = config.worker.busy_poll,
          .cpus = config.worker.cpus};
}

dataplane::ClassifierTables classifier_tables(const control::Config& config) {
  dataplane::ClassifierTables tables;
  tables.mode = datapath_mode(config.mode);
  if (config.role == control::Role::kHost) tables.local_addresses = config.addresses;
  tables.udp_port = config.udp_port;
  for (std::size_t peer = 0; peer < config.peers.size(); ++peer) {
    for (const roce::IpPrefix& prefix : config.peers[peer].prefixes) {
      tables.peers.push_back({prefix, static_cast<std::uint16_t>(peer)});
    }
  }
  tables.dscp = config.policy.dscp;
  return tables;
}

Status check_machine(const control::Config& config) {
  if (auto path = dataplane::check_bridge_path(config.lan.interface, config.wan.interface); !path)
    return path;
  const auto wan = dataplane::interface_facts(config.wan.interface);
  if (!wan) return fail(wan.error());
  if (config.wan_mtu_bytes > wan->mtu_bytes) {
    return fail(
        fmt::format("port.wan.mtu is {}, but the interface takes {}", config.wan_mtu_bytes, wan->mtu_bytes),
        config.wan.interface, "set the MTU of the WAN path");
  }
  if (wan->receive_queues > 1) {
    return fail(fmt::format("has {} receive queues; this version repairs on one", wan->receive_queues),
                config.wan.interface,
                fmt::format("'ethtool -L {} combined 1', and the same for {}", config.wan.interface,
                            config.lan.interface));
  }
  return {};
}

Status check_key_files(const control::Config& config) {
  for (const control::PeerConfig& peer : config.peers) {
    if (auto key = wire::read_key_file(peer.key_file); !key) return fail(key.error());
  }
  return {};
}

}  // namespace weft::daemon
