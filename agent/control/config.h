// agent/control: what the operator says to the agent and hears from it. This header is weftd.toml as a value.
//
// Every error names file and line and says what to write instead. A file is read whole or not at all: a reload
// of a bad one changes nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/base/result.h"
#include "agent/control/policy_file.h"
#include "agent/roce/ip_address.h"
#include "agent/wire/format.h"

namespace weft::control {

enum class Mode : std::uint8_t {
  kProtect,
  kObserve,  // classify and measure, send nothing
  kBypass,   // leave everything to the bridge
};

enum class Role : std::uint8_t {
  kGateway,
  kHost,  // beside the RoCE endpoint; only packets of `addresses` are ours
};

enum class XdpMode : std::uint8_t {
  kNative,   // in the driver
  kGeneric,  // on any device, slowly
};

struct PortConfig {
  std::string interface;
  XdpMode xdp = XdpMode::kNative;
  friend bool operator==(const PortConfig&, const PortConfig&) = default;
};

struct PeerConfig {
  std::string name;
  std::vector<roce::IpPrefix> prefixes;
  std::string key_file;
};

struct Config {
  Mode mode = Mode::kProtect;
  PortConfig lan;
  PortConfig wan;
  std::uint32_t wan_mtu_bytes = 1500;  // of the path, not only of the interface
  std::uint16_t udp_port = wire::kDefaultUdpPort;
  Role role = Role::kGateway;
  std::vector<roce::IpAddress> addresses;  // host role
  std::vector<PeerConfig> peers;           // at least one; the index is the peer's number
  TrafficPolicy policy;
  struct Caps {
    std::uint32_t flows = 65536;
    std::uint64_t hold_bytes = std::uint64_t{64} << 20;
    Nanoseconds endpoint_timeout = std::chrono::milliseconds(67);
  } caps;
  struct WorkerConfig {
    Nanoseconds busy_poll{0};
    std::vector<unsigned> cpus;
  } worker;
  std::string api_socket = "/run/weft/weftd.sock";
};

// `path` is for messages.
Result<Config> parse_config(std::string_view text, const std::string& path);
Result<Config> load_config(const std::string& path);

// Why `next` cannot replace `running` without a restart; success when it can.
Status check_reload(const Config& running, const Config& next);

std::string_view mode_name(Mode mode);
Result<Mode> parse_mode(std::string_view text);

}  // namespace weft::control
