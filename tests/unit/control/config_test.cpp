#include "agent/control/config.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace weft::control {
namespace {

constexpr std::string_view kWhole = R"(mode = "observe"
[port.lan]
interface = "lan0"
[port.wan]
interface = "wan0"
xdp = "generic"
mtu = 1500
udp_port = 5000
[role]
kind = "host"
addresses = ["10.0.0.2", "fd00:1::2"]
[[peer]]
name = "dc-b"
prefixes = ["10.2.0.0/16", "fd00:2::/48"]
key_file = "/etc/weft/dc-b.key"
[[peer]]
name = "dc-c"
prefixes = ["10.3.0.0/16"]
key_file = "/etc/weft/dc-c.key"
[tags.dscp]
10 = "dp-high"
34 = "pp:5"
0 = "none"
[class.dp-low]
target_residual = 2.5e-3
after = ["fill", "release"]
fill_budget = 1e-2
max_fill_per_message = 5e-2
[class.mine]
target_residual = "none"
[fec]
max_overhead = 0.25
code = "xor"
[caps]
flows = 1000
hold_bytes = 67108864
endpoint_timeout = "134ms"
[worker]
busy_poll = "50us"
cpus = [2, 3]
[api]
socket = "/tmp/weftd.sock"
)";

constexpr std::string_view kLeast = R"([port.lan]
interface = "lan0"
[port.wan]
interface = "wan0"
[[peer]]
name = "dc-b"
prefixes = ["10.2.0.0/16"]
key_file = "dc-b.key"
)";

TEST(Config, EveryKey) {
  const auto config = parse_config(kWhole, "weftd.toml");
  ASSERT_TRUE(config) << config.error().to_string();
  EXPECT_EQ(config->mode, Mode::kObserve);
  EXPECT_EQ(config->lan, (PortConfig{"lan0", XdpMode::kNative}));
  EXPECT_EQ(config->wan, (PortConfig{"wan0", XdpMode::kGeneric}));
  EXPECT_EQ(config->udp_port, 5000);
  EXPECT_EQ(config->role, Role::kHost);
  EXPECT_EQ(config->addresses.size(), 2U);
  ASSERT_EQ(config->peers.size(), 2U);
  EXPECT_EQ(config->peers[0].prefixes[1].to_string(), "fd00:2::/48");
  EXPECT_EQ(config->peers[1].key_file, "/etc/weft/dc-c.key");
  const recovery::PolicyTable& classes = config->policy.classes;
  EXPECT_EQ(config->policy.dscp[34], (recovery::Tag{.class_id = *classes.find("pp"), .level = 5}));
  EXPECT_EQ(config->policy.dscp[0], std::nullopt);
  EXPECT_EQ(config->policy.dscp[26], std::nullopt) << "the table replaces the shipped one";
  EXPECT_EQ(classes.classes[*classes.find("mine")].levels[0].target_residual, std::nullopt);
  EXPECT_EQ(classes.fec.code, recovery::CodeKind::kXor);
  EXPECT_EQ(config->caps.flows, 1000U);
  EXPECT_EQ(config->caps.endpoint_timeout, std::chrono::milliseconds(134));
  EXPECT_EQ(config->worker.busy_poll, std::chrono::microseconds(50));
  EXPECT_EQ(config->worker.cpus, (std::vector<unsigned>{2, 3}));
  EXPECT_EQ(config->api_socket, "/tmp/weftd.sock");
}

TEST(Config, LeastFileHasDefaultsNothingFillable) {
  const auto config = parse_config(kLeast, "weftd.toml");
  ASSERT_TRUE(config) << config.error().to_string();
  EXPECT_EQ(config->mode, Mode::kProtect);
  EXPECT_EQ(config->udp_port, 4793);
  EXPECT_EQ(config->caps.hold_bytes, 67108864U);
  for (const auto& tag : config->policy.dscp) {
    EXPECT_FALSE(tag && config->policy.classes.classes[tag->class_id].may_fill(tag->level));
  }
  EXPECT_TRUE(config->policy.dscp[26]);
}

struct Mistake {
  std::string_view description;
  std::string_view from;  // in kWhole
  std::string_view to;
  std::string_view where;
  std::string_view what;  // part of the message
  std::string_view hint;  // part of the hint
};

TEST(Config, EveryMistakeIsNamedWithItsLineAndAHint) {
  const Mistake mistakes[] = {
      {"no TOML", "mode = \"observe\"", "mode = ", "weftd.toml:1", "", "TOML"},
      {"unknown mode", "observe", "protct", "weftd.toml:1", "unknown mode 'protct'", "\"protect\""},
      {"wrong type", "mode = \"observe\"", "mode = 1", "weftd.toml:1", "must be a string", "quotes"},
      {"mistyped key", "interface = \"lan0\"", "interfce = \"lan0\"", "weftd.toml:2", "has no 'interface'",
       "eth0"},
      {"extra key", "mtu = 1500", "mtus = 1500", "weftd.toml:7", "unknown key 'mtus'", "did you mean 'mtu'?"},
      {"unknown table", "[api]", "[apy]", "weftd.toml:41", "unknown key 'apy'", "did you mean 'api'?"},
      {"MTU too small", "mtu = 1500", "mtu = 100", "weftd.toml:7", "from 1280 to", ""},
      {"RoCE's port", "udp_port = 5000", "udp_port = 4791", "weftd.toml:4", "RoCE's own", "4793"},
      {"same interface", "\"wan0\"", "\"lan0\"", "weftd.toml:4", "same interface", ""},
      {"host without addresses", "addresses = [\"10.0.0.2\", \"fd00:1::2\"]", "", "weftd.toml:9",
       "needs the addresses", "addresses ="},
      {"gateway with addresses", "\"host\"", "\"gateway\"", "weftd.toml:9", "is for hosts", "host"},
      {"bad address", "\"fd00:1::2\"", "\"fd00:1::g\"", "weftd.toml:11", "fd00:1::g", ""},
      {"host bits in a prefix", "10.2.0.0/16", "10.2.0.1/16", "weftd.toml:14", "10.2.0.1/16", ""},
      {"prefix twice", "10.3.0.0/16", "10.2.0.0/16", "weftd.toml:16", "given twice", "longest"},
      {"peer named twice", "dc-c\"", "dc-b\"", "weftd.toml:16", "two peers", ""},
      {"no key", "key_file = \"/etc/weft/dc-c.key\"", "", "weftd.toml:16", "no 'key_file'", "genkey"},
      {"DSCP out of range", "34 = ", "64 = ", "weftd.toml:22", "'64' is no DSCP", "0 to 63"},
      {"unknown class", "\"pp:5\"", "\"qq:5\"", "weftd.toml:22", "no class 'qq'", "exact, dp-high"},
      {"level out of range", "\"pp:5\"", "\"pp:8\"", "weftd.toml:22", "no level", "0 to 7"},
      {"residual that is none", "2.5e-3", "nan", "weftd.toml:25", "from 0 to 1", ""},
      {"residual above one", "2.5e-3", "2.5", "weftd.toml:25", "from 0 to 1", ""},
      {"retransmit", "\"fill\", \"release\"", "\"fill\", \"retransmit\", \"release\"", "weftd.toml:26",
       "not in this version", "release"},
      {"nothing at last", "[\"fill\", \"release\"]", "[\"fill\"]", "weftd.toml:26", "end with \"release\"",
       "release"},
      {"early close", "fill_budget = 1e-2", "early_close = 0.9", "weftd.toml:27", "not in this version", ""},
      {"tolerance table", "fill_budget = 1e-2", "tolerance = [0.1]", "weftd.toml:27", "not in this version",
       ""},
      {"half a fixed code", "fill_budget = 1e-2", "k = 32", "weftd.toml:24", "both 'k' and 'r'", "k = 32"},
      {"too many levels", "fill_budget = 1e-2", "fill_budget = [1e-2, 0]", "weftd.toml:27", "2 values",
       "8 of them"},
      {"fillable exact", "[class.mine]", "[class.exact]\nfill_budget = 0.1", "weftd.toml:29",
       "cannot have a fill budget", "another name"},
      {"unknown code", "\"xor\"", "\"raptor\"", "weftd.toml:33", "unknown code", "\"rs\""},
      {"no flows", "flows = 1000", "flows = 0", "weftd.toml:35", "from 1 to", ""},
      {"no unit", "\"134ms\"", "\"134\"", "weftd.toml:37", "endpoint_timeout", ""},
      {"a timeout of an hour", "\"134ms\"", "\"60m\"", "weftd.toml:37", "out of range", "to 60s"},
      {"a CPU that is none", "[2, 3]", "[2, -1]", "weftd.toml:40", "CPU numbers", "cpus ="},
      {"empty socket", "\"/tmp/weftd.sock\"", "\"\"", "weftd.toml:42", "must not be empty", ""},
  };
  for (const Mistake& mistake : mistakes) {
    SCOPED_TRACE(mistake.description);
    std::string text(kWhole);
    const std::size_t at = text.find(mistake.from);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, mistake.from.size(), mistake.to);
    const auto config = parse_config(text, "weftd.toml");
    ASSERT_FALSE(config);
    EXPECT_EQ(config.error().where, mistake.where);
    EXPECT_NE(config.error().what.find(mistake.what), std::string::npos) << config.error().what;
    EXPECT_NE(config.error().hint.find(mistake.hint), std::string::npos) << config.error().hint;
  }
}

TEST(Config, PortsAndPeersAreNeeded) {
  EXPECT_NE(parse_config("", "x").error().what.find("[port.lan]"), std::string::npos);
  EXPECT_NE(parse_config("[port.lan]\ninterface = \"a\"", "x").error().what.find("[port.wan]"),
            std::string::npos);
  const std::string_view no_peer = kLeast.substr(0, kLeast.find("[[peer]]"));
  EXPECT_NE(parse_config(no_peer, "x").error().what.find("[[peer]]"), std::string::npos);
}

TEST(Config, ReloadRefusesWhatNeedsARestart) {
  const auto running = parse_config(kLeast, "x");
  ASSERT_TRUE(running);
  auto next = *running;
  next.mode = Mode::kBypass;
  next.policy.dscp.fill(std::nullopt);
  EXPECT_TRUE(check_reload(*running, next));
  next.lan.interface = "lan1";
  ASSERT_FALSE(check_reload(*running, next));
  EXPECT_NE(check_reload(*running, next).error().what.find("[port.lan]"), std::string::npos);
}

// What a class means may change; which id stands for it may not, or traffic under way would be taken for another's.
TEST(Config, ReloadKeepsTheClasses) {
  const std::string base(kLeast);
  const auto running = parse_config(base + "[class.mine]\nfill_budget = 0.01\n", "x");
  ASSERT_TRUE(running);
  EXPECT_TRUE(check_reload(*running, *parse_config(base + "[class.mine]\nfill_budget = 0\n", "x")));
  for (const char* classes : {"", "[class.mine]\n[class.another]\n", "[class.yours]\n"}) {
    const auto next = parse_config(base + classes, "x");
    ASSERT_TRUE(next);
    ASSERT_FALSE(check_reload(*running, *next)) << classes;
    EXPECT_NE(check_reload(*running, *next).error().what.find("classes"), std::string::npos);
  }
}

std::string list_of(std::size_t count, const char* pattern) {
  std::string list;
  for (std::size_t i = 0; i < count; ++i)
    list += fmt::format(fmt::runtime(pattern), i / 256, i % 256);
  return "[" + list + "]";
}

TEST(Config, NoMoreThanTheTablesHold) {
  std::string text(kLeast);
  text.replace(text.find("[\"10.2.0.0/16\"]"), 15, list_of(4097, "\"10.{}.{}.0/24\", "));
  ASSERT_FALSE(parse_config(text, "x"));
  EXPECT_NE(parse_config(text, "x").error().what.find("4096 prefixes"), std::string::npos);
  const std::string host = "[role]\nkind = \"host\"\naddresses = ";
  EXPECT_TRUE(parse_config(std::string(kLeast) + host + list_of(1024, "\"10.0.{}.{}\", "), "x"));
  const auto many = parse_config(std::string(kLeast) + host + list_of(1025, "\"10.0.{}.{}\", "), "x");
  ASSERT_FALSE(many);
  EXPECT_NE(many.error().what.find("1024 'addresses'"), std::string::npos);
}

}  // namespace
}  // namespace weft::control
