#include "testbed/rc/driver/options.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "agent/base/rng.h"
#include "agent/base/text_file.h"

namespace weft::rc {
namespace {

constexpr std::uint32_t kMostSlots = 1024;

Result<roce::MacAddress> parse_mac(const std::string& text) {
  roce::MacAddress mac{};
  int read_chars = 0;
  const int fields = std::sscanf(text.c_str(), "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", &mac[0], &mac[1],
                                 &mac[2], &mac[3], &mac[4], &mac[5], &read_chars);
  if (fields == 6 && static_cast<std::size_t>(read_chars) == text.size()) return mac;
  return fail(fmt::format("'{}' is not a MAC address", text), "--peer-mac",
              "write it like 02:00:00:00:00:01");
}

// "100" or "100:3".
Result<std::uint16_t> parse_vlan(const std::string& text) {
  unsigned vid = 0;
  unsigned pcp = 0;
  int read_chars = 0;
  const int fields = std::sscanf(text.c_str(), "%4u%n:%1u%n", &vid, &read_chars, &pcp, &read_chars);
  if (fields >= 1 && static_cast<std::size_t>(read_chars) == text.size() && vid <= 4094 && pcp <= 7)
    return static_cast<std::uint16_t>(pcp << 13 | vid);
  return fail(fmt::format("'{}' is not a VLAN", text), "--vlan", "write it like 100 or 100:3");
}

Result<roce::VlanStack> parse_vlans(const std::vector<std::string>& texts) {
  roce::VlanStack stack;
  for (const std::string& text : texts) {
    const auto tci = parse_vlan(text);
    if (!tci) return fail(tci.error());
    const bool outer_of_two = texts.size() == 2 && stack.count == 0;
    stack.tags[stack.count++] = {outer_of_two ? roce::kEtherTypeVlanAd : roce::kEtherTypeVlan, *tci};
  }
  return stack;
}

Result<WorkOp> parse_op(const std::string& text) {
  if (text == "write") return WorkOp::kWrite;
  if (text == "write-imm") return WorkOp::kWriteWithImm;
  if (text == "send") return WorkOp::kSend;
  if (text == "read") return WorkOp::kRead;
  return fail(fmt::format("'{}' is not an operation", text), "--op", "write-imm, write, send or read");
}

Result<roce::PacketPath> check_path(const Arguments& arguments) {
  roce::PacketPath path;
  const auto local = roce::IpAddress::parse(arguments.local);
  if (!local) return fail(local.error());
  const auto peer = roce::IpAddress::parse(arguments.peer);
  if (!peer) return fail(peer.error());
  if (local->ipv6 != peer->ipv6)
    return fail("--local and --peer are of different families", arguments.local + " " + arguments.peer);
  const auto mac = parse_mac(arguments.peer_mac);
  if (!mac) return fail(mac.error());
  const auto vlans = parse_vlans(arguments.vlans);
  if (!vlans) return fail(vlans.error());
  path.src = *local;
  path.dst = *peer;
  path.dst_mac = *mac;
  path.vlans = *vlans;
  return path;
}

Result<std::vector<MessageSpec>> check_messages(const Arguments& arguments) {
  if (!arguments.workload.empty()) {
    const auto text = read_text_file(arguments.workload);
    if (!text) return fail(text.error());
    return parse_workload(*text, arguments.workload);
  }
  std::vector<std::uint32_t> sizes;
  for (const std::string& text : arguments.message_bytes) {
    const auto bytes = parse_bytes(text);
    if (!bytes) return fail(bytes.error());
    if (*bytes > kLargestMessageBytes)
      return fail(fmt::format("'{}' is beyond 1 GiB", text), "--message-bytes");
    sizes.push_back(static_cast<std::uint32_t>(*bytes));
  }
  std::vector<TrafficClass> classes;
  for (const std::string& text : arguments.classes) {
    auto parsed = parse_class(text);
    if (!parsed) return fail(parsed.error());
    classes.push_back(std::move(*parsed));
  }
  return mixed_messages(arguments.messages, sizes, classes, arguments.seed);
}

}  // namespace

void define_options(CLI::App& command, Role role, Arguments& arguments) {
  command.add_option("--interface", arguments.interface, "the interface frames go to and come from")
      ->required();
  command.add_option("--local", arguments.local, "this end's IP address")->required();
  command.add_option("--peer", arguments.peer, "the other end's")->required();
  command.add_option("--peer-mac", arguments.peer_mac, "next hop's Ethernet address")->required();
  command.add_option("--vlan", arguments.vlans, "VID[:PCP]; twice for an outer and an inner tag")
      ->expected(1, 2)
      ->default_str("");
  auto* messages = command.add_option("--messages", arguments.messages, "number of messages")
                       ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{100'000'000}));
  auto* sizes = command.add_option("--message-bytes", arguments.message_bytes, "sizes, equally many of each")
                    ->delimiter(',');
  auto* classes =
      command.add_option("--class", arguments.classes, "NAME:DSCP, dealt to the messages in turn")
          ->delimiter(',');
  command.add_option("--workload", arguments.workload, R"(JSON Lines {"bytes","class","dscp"})")
      ->excludes(messages)
      ->excludes(sizes)
      ->excludes(classes);
  command.add_option("--warmup", arguments.warmup, "short messages sent before any that counts")
      ->check(CLI::Range(0U, 1000U));
  command.add_option("--op", arguments.op, "write-imm, write, send or read");
  command.add_option("--qps", arguments.qps, "messages in flight")->check(CLI::Range(1U, kMostSlots));
  command.add_option("--pmtu", arguments.pmtu, "path MTU of the queue pairs in bytes")
      ->check(CLI::IsMember(std::vector<std::uint32_t>(roce::kPmtus.begin(), roce::kPmtus.end())));
  command.add_option("--rate", arguments.rate, "the pacer all queue pairs share, at IP level");
  command.add_option("--window", arguments.window, "unacknowledged payload per queue pair");
  command.add_option("--timeout", arguments.timeout, "local ACK timeout");
  command.add_option("--retry", arguments.retry, "retries without progress")->check(CLI::Range(0U, 7U));
  command.add_option("--ack-every", arguments.ack_every, "packets per acknowledgement")
      ->check(CLI::Range(1U, 1024U));
  command.add_option("--psn", arguments.psn, "start PSN of every queue pair; random without")
      ->check(CLI::Range(0U, roce::kPsnMask));
  command.add_option("--seed", arguments.seed, "of everything random");
  if (role == Role::kResponder)
    command.add_option("--fill-log", arguments.fill_log, "weft-fill/1: the only ranges that may be zero");
  command.add_option("--out", arguments.out, "where the result goes; - is stdout");
}

Result<Options> check_options(const Arguments& arguments) {
  Options options{.interface = arguments.interface,
                  .path = {},
                  .messages = {},
                  .plan = {arguments.qps, arguments.pmtu, arguments.psn, arguments.seed, arguments.warmup},
                  .retry_count = arguments.retry,
                  .ack_every = arguments.ack_every,
                  .fill_log = arguments.fill_log,
                  .out = arguments.out};
  const auto take = [](auto result, auto& out) -> Status {
    if (!result) return fail(result.error());
    out = std::move(*result);
    return {};
  };
  return take(check_path(arguments), options.path)
      .and_then([&] { return take(check_messages(arguments), options.messages); })
      .and_then([&] { return take(parse_op(arguments.op), options.op); })
      .and_then([&] { return take(parse_rate(arguments.rate), options.rate_bits_per_second); })
      .and_then([&] { return take(parse_bytes(arguments.window), options.window_bytes); })
      .and_then([&] { return take(parse_duration(arguments.timeout), options.timeout); })
      .map([&] { return options; });
}

QpConfig qp_config(const Options& options, const PlannedQp& qp, Role role,
                   const roce::MacAddress& local_mac) {
  const bool requester = role == Role::kRequester;
  QpConfig config;
  config.qpn = requester ? qp.requester_qpn : qp.responder_qpn;
  config.peer_qpn = requester ? qp.responder_qpn : qp.requester_qpn;
  config.first_psn = requester ? qp.requester_psn : qp.responder_psn;
  config.peer_first_psn = requester ? qp.responder_psn : qp.requester_psn;
  config.path = options.path;
  config.path.src_mac = local_mac;
  config.path.tos = static_cast<std::uint8_t>(qp.traffic_class.dscp << 2);
  // Like rdma_rxe: a port per queue pair from a hash of its number, for ECMP, in the upper quarter.
  config.path.udp_source_port = static_cast<std::uint16_t>(0xc000 | Rng(config.qpn).below(0x4000));
  config.pmtu_bytes = options.plan.pmtu_bytes;
  config.window_packets = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(options.window_bytes / options.plan.pmtu_bytes, 1, kMaxWindowPackets));
  config.ack_every = options.ack_every;
  config.timeout = options.timeout;
  config.retry_count = options.retry_count;
  return config;
}

}  // namespace weft::rc
