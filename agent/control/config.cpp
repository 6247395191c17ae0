#include "agent/control/config.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "agent/base/text_file.h"

namespace weft::control {
namespace {

// The largest a UDP datagram's IP packet can be.
constexpr std::uint64_t kMostMtu = 65535;
constexpr std::uint64_t kMostFlows = 1 << 22;
constexpr std::uint64_t kLeastHoldBytes = 1 << 20;
constexpr std::uint64_t kMostHoldBytes = std::uint64_t{64} << 30;
// What the classifier's tables hold.
constexpr std::size_t kMostPrefixes = 4096;
constexpr std::size_t kMostAddresses = 1024;
constexpr std::size_t kMostPeers = 1024;
constexpr std::size_t kMostInterfaceName = 15;  // IFNAMSIZ - 1
constexpr unsigned kMostCpu = 1023;
// An ACK timeout of RoCE is 4.096 us * 2^n; what is shorter than a LAN round trip or longer than a minute is a
// mistake.
constexpr Nanoseconds kLeastEndpointTimeout = std::chrono::milliseconds(1);
constexpr Nanoseconds kMostEndpointTimeout = std::chrono::minutes(1);
constexpr Nanoseconds kMostBusyPoll = std::chrono::milliseconds(10);

constexpr std::array<std::pair<std::string_view, Mode>, 3> kModes = {
    {{"protect", Mode::kProtect}, {"observe", Mode::kObserve}, {"bypass", Mode::kBypass}}};

Result<Role> parse_role(std::string_view text) {
  if (text == "gateway") return Role::kGateway;
  if (text == "host") return Role::kHost;
  return fail(fmt::format("unknown kind '{}'", text), {}, R"("gateway" or "host")");
}

Result<XdpMode> parse_xdp_mode(std::string_view text) {
  if (text == "native") return XdpMode::kNative;
  if (text == "generic") return XdpMode::kGeneric;
  return fail(fmt::format("unknown mode '{}'", text), {}, R"("native" or "generic")");
}

Result<std::string> parse_interface(std::string_view text) {
  if (text.empty() || text.size() > kMostInterfaceName ||
      text.find_first_of("/ ") != std::string_view::npos) {
    return fail(fmt::format("'{}' is no interface name", text));
  }
  return std::string(text);
}

Result<std::string> parse_not_empty(std::string_view text) {
  if (text.empty()) return fail("must not be empty");
  return std::string(text);
}

auto duration_within(Nanoseconds least, Nanoseconds most) {
  return [=](std::string_view text) -> Result<Nanoseconds> {
    auto duration = parse_duration(text);
    if (duration && (*duration < least || *duration > most)) {
      return fail(fmt::format("'{}' is out of range", text), {},
                  fmt::format("{} to {}", format_duration(least), format_duration(most)));
    }
    return duration;
  };
}

// Every element of a list of strings through `parse`.
template <class T, class Parse>
void read_list(TomlReader& reader, std::string_view key, Parse parse, std::vector<T>& out) {
  const toml::node* value = reader.node(key);
  if (value == nullptr) return;
  const toml::array* array = value->as_array();
  if (array == nullptr) {
    reader.fail_at(*value, fmt::format("'{}' must be a list", key), fmt::format("{} = [\"...\"]", key));
    return;
  }
  out.clear();
  for (const toml::node& element : *array) {
    const auto text = element.value_exact<std::string_view>();
    if (!text) {
      reader.fail_at(element, fmt::format("'{}' must be a list of strings", key),
                     "put each in double quotes");
      return;
    }
    auto parsed = parse(*text);
    if (!parsed) {
      reader.fail_at(element, parsed.error().what, parsed.error().hint);
      return;
    }
    out.push_back(std::move(*parsed));
  }
}

void read_port(TomlReader& reader, PortConfig& port) {
  reader.text("interface", parse_interface, port.interface);
  reader.text("xdp", parse_xdp_mode, port.xdp);
  if (port.interface.empty()) reader.fail_here("has no 'interface'", "interface = \"eth0\"");
}

void read_ports(TomlReader& root, const std::string& path, Config& config) {
  const toml::table* ports = root.table("port");
  if (ports == nullptr) {
    root.fail_here("has no [port.lan] and [port.wan]", "the two bridge ports traffic passes between");
    return;
  }
  TomlReader reader(*ports, path);
  const toml::table* lan = reader.table("lan");
  const toml::table* wan = reader.table("wan");
  if (lan == nullptr || wan == nullptr) {
    reader.fail_here(fmt::format("has no [port.{}]", lan == nullptr ? "lan" : "wan"));
    root.adopt(reader.finish());
    return;
  }
  TomlReader lan_reader(*lan, path);
  read_port(lan_reader, config.lan);
  root.adopt(lan_reader.finish());

  TomlReader wan_reader(*wan, path);
  read_port(wan_reader, config.wan);
  std::uint64_t mtu = config.wan_mtu_bytes;
  std::uint64_t udp_port = config.udp_port;
  wan_reader.integer("mtu", mtu, wire::kLeastWanMtuBytes, kMostMtu);
  wan_reader.integer("udp_port", udp_port, 1, UINT16_MAX);
  if (udp_port == roce::kRoceUdpPort)
    wan_reader.fail_here("udp_port 4791 is RoCE's own", "4793 is the default");
  config.wan_mtu_bytes = static_cast<std::uint32_t>(mtu);
  config.udp_port = static_cast<std::uint16_t>(udp_port);
  if (config.lan.interface == config.wan.interface)
    wan_reader.fail_here("lan and wan are the same interface");
  root.adopt(wan_reader.finish());
  root.adopt(reader.finish());
}

void read_role(TomlReader& root, const std::string& path, Config& config) {
  const toml::table* rows = root.table("role");
  if (rows == nullptr) return;
  TomlReader reader(*rows, path);
  reader.text("kind", parse_role, config.role);
  read_list(reader, "addresses", roce::IpAddress::parse, config.addresses);
  if (config.role == Role::kHost && config.addresses.empty()) {
    reader.fail_here("a host needs the addresses of its RoCE endpoint", "addresses = [\"10.0.0.2\"]");
  }
  if (config.addresses.size() > kMostAddresses)
    reader.fail_here(fmt::format("more than {} 'addresses'", kMostAddresses));
  if (config.role == Role::kGateway && !config.addresses.empty()) {
    reader.fail_here("'addresses' is for hosts; a gateway serves whoever is behind it", "kind = \"host\"");
  }
  root.adopt(reader.finish());
}

void read_peers(TomlReader& root, const std::string& path, Config& config) {
  std::set<std::string> names;
  std::set<std::string> prefixes;
  const auto tables = root.tables("peer");
  if (tables.size() > kMostPeers) root.fail_here(fmt::format("more than {} peers", kMostPeers));
  for (const toml::table* rows : tables) {
    TomlReader reader(*rows, path);
    PeerConfig peer;
    reader.text("name", parse_not_empty, peer.name);
    reader.text("key_file", parse_not_empty, peer.key_file);
    read_list(reader, "prefixes", roce::IpPrefix::parse, peer.prefixes);
    if (peer.name.empty()) reader.fail_here("a peer has no 'name'");
    if (peer.prefixes.empty()) {
      reader.fail_here(fmt::format("peer '{}' has no 'prefixes'", peer.name), "prefixes = [\"10.2.0.0/16\"]");
    }
    if (peer.key_file.empty()) {
      reader.fail_here(fmt::format("peer '{}' has no 'key_file'", peer.name),
                       "make one with 'weftctl genkey'");
    }
    if (!names.insert(peer.name).second) reader.fail_here(fmt::format("two peers are named '{}'", peer.name));
    for (const roce::IpPrefix& prefix : peer.prefixes) {
      if (!prefixes.insert(prefix.to_string()).second) {
        reader.fail_here(fmt::format("prefix {} is given twice", prefix.to_string()),
                         "an address belongs to the peer with the longest prefix that holds it");
      }
    }
    config.peers.push_back(std::move(peer));
    root.adopt(reader.finish());
  }
  if (prefixes.size() > kMostPrefixes)
    root.fail_here(fmt::format("peers have more than {} prefixes", kMostPrefixes), "use shorter ones");
  if (config.peers.empty())
    root.fail_here("has no [[peer]]", "name, prefixes and key_file of the other datacenter");
}

void read_caps(TomlReader& root, const std::string& path, Config& config) {
  const toml::table* rows = root.table("caps");
  if (rows == nullptr) return;
  TomlReader reader(*rows, path);
  std::uint64_t flows = config.caps.flows;
  reader.integer("flows", flows, 1, kMostFlows);
  config.caps.flows = static_cast<std::uint32_t>(flows);
  reader.integer("hold_bytes", config.caps.hold_bytes, kLeastHoldBytes, kMostHoldBytes);
  reader.text("endpoint_timeout", duration_within(kLeastEndpointTimeout, kMostEndpointTimeout),
              config.caps.endpoint_timeout);
  root.adopt(reader.finish());
}

void read_worker(TomlReader& root, const std::string& path, Config& config) {
  const toml::table* rows = root.table("worker");
  if (rows == nullptr) return;
  TomlReader reader(*rows, path);
  reader.text("busy_poll", duration_within(Nanoseconds(0), kMostBusyPoll), config.worker.busy_poll);
  if (const toml::node* cpus = reader.node("cpus")) {
    const toml::array* array = cpus->as_array();
    if (array == nullptr) reader.fail_at(*cpus, "'cpus' must be a list of CPU numbers", "cpus = [2, 3]");
    for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
      const auto cpu = array->get(i)->value_exact<std::int64_t>();
      if (!cpu || *cpu < 0 || *cpu > kMostCpu) {
        reader.fail_at(*cpus, "'cpus' must be a list of CPU numbers", "cpus = [2, 3]");
        break;
      }
      config.worker.cpus.push_back(static_cast<unsigned>(*cpu));
    }
  }
  root.adopt(reader.finish());
}

void read_api(TomlReader& root, const std::string& path, Config& config) {
  const toml::table* rows = root.table("api");
  if (rows == nullptr) return;
  TomlReader reader(*rows, path);
  reader.text("socket", parse_not_empty, config.api_socket);
  root.adopt(reader.finish());
}

}  // namespace

std::string_view mode_name(Mode mode) {
  return std::ranges::find(kModes, mode, &std::pair<std::string_view, Mode>::second)->first;
}

Result<Mode> parse_mode(std::string_view text) {
  const auto found = std::ranges::find(kModes, text, &std::pair<std::string_view, Mode>::first);
  if (found != kModes.end()) return found->second;
  return fail(fmt::format("unknown mode '{}'", text), {}, R"("protect", "observe" or "bypass")");
}

Result<Config> parse_config(std::string_view text, const std::string& path) {
  const auto table = parse_toml(text, path);
  if (!table) return fail(table.error());
  Config config;
  TomlReader root(*table, path);
  root.text("mode", parse_mode, config.mode);
  read_ports(root, path, config);
  read_role(root, path, config);
  read_peers(root, path, config);
  read_traffic_policy(root, path, config.policy);
  read_caps(root, path, config);
  read_worker(root, path, config);
  read_api(root, path, config);
  if (Status read = root.finish(); !read) return fail(read.error());
  return config;
}

Result<Config> load_config(const std::string& path) {
  const auto text = read_text_file(path);
  if (!text) return fail(text.error());
  return parse_config(*text, path);
}

Status check_reload(const Config& running, const Config& next) {
  const auto refuse = [](std::string_view what) -> Status {
    return fail(fmt::format("{} cannot change while running", what), {}, "restart weftd");
  };
  if (running.lan != next.lan) return refuse("[port.lan]");
  if (running.wan != next.wan) return refuse("[port.wan] interface and xdp");
  if (running.caps.flows != next.caps.flows) return refuse("caps.flows");
  if (running.caps.hold_bytes != next.caps.hold_bytes) return refuse("caps.hold_bytes");
  if (running.worker.cpus != next.worker.cpus || running.worker.busy_poll != next.worker.busy_poll) {
    return refuse("[worker]");
  }
  if (running.api_socket != next.api_socket) return refuse("api.socket");
  // Ids stand for classes in tables, counters and packets under way, and ids follow from the names.
  if (!std::ranges::equal(running.policy.classes.classes, next.policy.classes.classes, {},
                          &recovery::ClassPolicy::name, &recovery::ClassPolicy::name)) {
    return refuse("the list of classes");
  }
  return {};
}

}  // namespace weft::control
