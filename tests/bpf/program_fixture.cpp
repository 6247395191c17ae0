#include "tests/bpf/program_fixture.h"

#include <cerrno>
#include <cstring>

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <sys/socket.h>

#include "agent/base/clock.h"

namespace weft::test {
namespace {

constexpr std::uint32_t kFlowCapacity = 16;

std::uint64_t monotonic_ns() { return static_cast<std::uint64_t>(monotonic_now().count()); }

roce::PacketPath make_path(bool ipv6, bool reversed, unsigned vlans, unsigned dscp) {
  roce::PacketPath path;
  path.src_mac = {2, 0, 0, 0, 1, 1};
  path.dst_mac = {2, 0, 0, 0, 2, 2};
  path.src = *roce::IpAddress::parse(ipv6 ? "fd00:1::1" : "10.1.0.1");
  path.dst = *roce::IpAddress::parse(ipv6 ? "fd00:2::2" : "10.2.0.2");
  if (reversed) std::swap(path.src, path.dst);
  path.tos = static_cast<std::uint8_t>(dscp << 2);
  path.vlans.count = static_cast<std::uint8_t>(vlans);
  if (vlans == 2) path.vlans.tags[0] = {roce::kEtherTypeVlanAd, 0x6064};
  if (vlans > 0) path.vlans.tags[vlans - 1] = {roce::kEtherTypeVlan, 0x2005};
  return path;
}

CounterDelta read_counters(dataplane::Classifier& classifier, recovery::Port port) {
  CounterDelta values;
  const auto all = classifier.counters();
  if (!all) ADD_FAILURE() << all.error().to_string();
  for (const dataplane::CounterValue& counter : all.value()) {
    if (counter.port == port) values[{counter.cause, counter.class_id}] = counter.packets;
  }
  return values;
}

}  // namespace

void ProgramFixture::SetUp() {
  auto loaded = dataplane::XdpPrograms::load(kFlowCapacity);
  if (!loaded && (loaded.error().code == EPERM || loaded.error().code == ENOSYS)) {
    GTEST_SKIP() << "this machine loads no BPF programs: " << loaded.error().what;
  }
  ASSERT_TRUE(loaded) << loaded.error().to_string();
  programs_ = std::move(*loaded);
  classifier_.emplace(*programs_, kMaxFrameBytes);

  tables_.udp_port = kWeftPort;
  tables_.peers = {{*roce::IpPrefix::parse("10.2.0.0/16"), kPeerIndex},
                   {*roce::IpPrefix::parse("fd00:2::/48"), kPeerIndex}};
  tables_.dscp[10] = recovery::Tag{.class_id = kDpHigh};
  tables_.dscp[34] = recovery::Tag{.class_id = kPp, .level = 5};
  ASSERT_TRUE(classifier_->apply(tables_, recovery::PolicyTable::defaults()));
  for (const auto port : {recovery::Port::kLan, recovery::Port::kWan}) {
    UniqueFd& socket_fd = sockets_[static_cast<std::size_t>(port)];
    socket_fd.reset(::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0));
    if (!socket_fd) GTEST_SKIP() << "this kernel has no AF_XDP sockets";
    const auto map =
        port == recovery::Port::kLan ? dataplane::MapName::kXsksLan : dataplane::MapName::kXsksWan;
    const auto fd = static_cast<std::uint32_t>(socket_fd.get());
    ASSERT_TRUE(programs_->update(map, dataplane::as_bytes(std::uint32_t{0}), dataplane::as_bytes(fd)));
  }
}

void ProgramFixture::close_socket(recovery::Port port) { sockets_[static_cast<std::size_t>(port)].reset(); }

RunResult ProgramFixture::run(recovery::Port port, ByteView frame) {
  const CounterDelta before = read_counters(*classifier_, port);
  xdp_md in{};
  in.data_end = static_cast<std::uint32_t>(frame.size());
  xdp_md out{};
  Bytes buffer(frame.size() + 256);
  LIBBPF_OPTS(bpf_test_run_opts, options);
  options.data_in = frame.data();
  options.data_size_in = static_cast<std::uint32_t>(frame.size());
  options.data_out = buffer.data();
  options.data_size_out = static_cast<std::uint32_t>(buffer.size());
  options.ctx_in = &in;
  options.ctx_size_in = sizeof(in);
  options.ctx_out = &out;
  options.ctx_size_out = sizeof(out);
  options.repeat = 1;
  programs_->heartbeats()[0] = monotonic_ns() - heartbeat_age_ns_;
  const int error = bpf_prog_test_run_opts(programs_->program_fd(port), &options);
  EXPECT_EQ(error, 0) << std::strerror(-error) << ", frame of " << frame.size() << " bytes";

  RunResult result;
  result.action = options.retval;
  if (out.data >= sizeof(weft_meta)) {
    std::memcpy(&result.meta.emplace(), buffer.data() + out.data - sizeof(weft_meta), sizeof(weft_meta));
  }
  result.frame.assign(buffer.begin() + out.data, buffer.begin() + options.data_size_out);
  for (const auto& [key, packets] : read_counters(*classifier_, port)) {
    const auto old = before.find(key);
    const std::uint64_t moved = packets - (old == before.end() ? 0 : old->second);
    if (moved != 0) result.counted[key] = moved;
  }
  return result;
}

Bytes make_frame(const FrameSpec& spec) {
  roce::PacketHeaders headers;
  headers.bth.opcode = spec.opcode;
  headers.bth.dest_qpn = spec.qpn;
  headers.bth.psn = roce::Psn(spec.psn);
  headers.reth = spec.reth;
  const Bytes payload(roce::opcode_info(spec.opcode).carries_payload ? spec.payload_bytes : 0, 0xa5);
  roce::PacketPath path = make_path(spec.ipv6, spec.reversed, spec.vlans, spec.dscp);
  path.udp_source_port = spec.udp_source_port;
  return roce::build_frame(path, headers, payload);
}

Bytes make_datagram(std::uint16_t udp_destination, ByteView payload, bool reversed) {
  const std::size_t udp_bytes = roce::kUdpBytes + payload.size();
  Bytes frame(roce::kEthernetBytes + roce::kIpv4Bytes + udp_bytes);
  const std::size_t udp = roce::build_lower_headers(frame, make_path(false, reversed, 0, 0), udp_bytes);
  store_be16(&frame[udp + 2], udp_destination);
  store_be16(&frame[udp + 4], static_cast<std::uint16_t>(udp_bytes));
  std::ranges::copy(payload, frame.begin() + static_cast<std::ptrdiff_t>(udp + roce::kUdpBytes));
  return frame;
}

}  // namespace weft::test
