#include "agent/dataplane/features.h"

#include <algorithm>
#include <cerrno>
#include <iterator>

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <sys/socket.h>

#include "agent/base/unique_fd.h"
#include "agent/dataplane/uapi.h"

namespace weft::dataplane {
namespace {

// Newer than Debian 12's headers.
constexpr __u32 kXdpHasFragments = 1U << 5;  // BPF_F_XDP_HAS_FRAGS

bool loads_xdp(__u32 flags) {
  // return XDP_PASS;
  const bpf_insn program[] = {
      {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .src_reg = 0, .off = 0, .imm = XDP_PASS},
      {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},
  };
  LIBBPF_OPTS(bpf_prog_load_opts, options);
  options.prog_flags = flags;
  const UniqueFd fd(
      bpf_prog_load(BPF_PROG_TYPE_XDP, "weft_probe", "Dual BSD/GPL", program, std::size(program), &options));
  return static_cast<bool>(fd);
}

bool opens_af_xdp() { return static_cast<bool>(UniqueFd(::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0))); }

// Binding to no device fails either way: with ENODEV when the kernel knows the flag, with EINVAL before that when
// it does not.
bool knows_scatter_gather() {
  const UniqueFd fd(::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0));
  if (!fd) return false;
  sockaddr_xdp address{};
  address.sxdp_family = AF_XDP;
  address.sxdp_flags = XDP_COPY | XDP_USE_SG;
  return ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 &&
         errno == ENODEV;
}

}  // namespace

const std::array<FeatureInfo, kFeatureCount>& feature_table() {
  static constexpr std::array<FeatureInfo, kFeatureCount> kTable = {{
      {Feature::kXdpPrograms, "xdp-programs", "nothing can be taken from the bridge", true},
      {Feature::kXdpFragments, "xdp-fragments", "the programs do not load (Linux 5.18 has it)", true},
      {Feature::kAfXdp, "af-xdp", "packets cannot reach the agent (CONFIG_XDP_SOCKETS)", true},
      {Feature::kScatterGather, "scatter-gather",
       "frames over 3840 bytes (PMTU 4096) pass unprotected (Linux 6.6 has it)", false},
  }};
  return kTable;
}

std::optional<Feature> find_feature(std::string_view name) {
  const auto found = std::ranges::find(feature_table(), name, &FeatureInfo::name);
  if (found == feature_table().end()) return std::nullopt;
  return found->feature;
}

Features Features::probe() {
  Features features;
  const auto set = [&](Feature feature, bool present) {
    features.present_[static_cast<std::size_t>(feature)] = present;
  };
  set(Feature::kXdpPrograms, loads_xdp(0));
  set(Feature::kXdpFragments, loads_xdp(kXdpHasFragments));
  set(Feature::kAfXdp, opens_af_xdp());
  set(Feature::kScatterGather, knows_scatter_gather());
  return features;
}

}  // namespace weft::dataplane
