#include "agent/dataplane/xdp_programs.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <utility>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <sys/mman.h>

#include "agent/roce/opcode.h"
#include "bpf/weft_abi.h"
#include "weft_xdp.skel.h"

namespace weft::dataplane {
namespace {

constexpr std::size_t kHeartbeatBytes = WEFT_MAX_QUEUES * sizeof(std::uint64_t);

// libbpf explains failures on a callback; the last warning goes into the Error. Loading happens at start-up,
// on one thread.
std::string& last_warning() {
  static std::string text;
  return text;
}

__attribute__((format(printf, 2, 0))) int keep_warning(libbpf_print_level level, const char* format,
                                                       va_list arguments) {
  if (level != LIBBPF_WARN) return 0;
  char line[512];
  std::vsnprintf(line, sizeof(line), format, arguments);
  last_warning() = line;
  while (last_warning().ends_with('\n')) {
    last_warning().pop_back();
  }
  return 0;
}

weft_opcode abi_opcode(const roce::OpcodeInfo& info) {
  using roce::Operation;
  using roce::Position;
  unsigned flags = WEFT_OP_KNOWN;
  if (info.transport == roce::Transport::kRc || info.transport == roce::Transport::kUc) {
    flags |= WEFT_OP_CONNECTED;
  }
  if (info.is_response()) flags |= WEFT_OP_RESPONSE;
  if (info.operation == Operation::kAcknowledge || info.operation == Operation::kAtomicAcknowledge) {
    flags |= WEFT_OP_ACK;
  }
  if (info.operation == Operation::kWrite) flags |= WEFT_OP_WRITE;
  if (info.position == Position::kFirst) flags |= WEFT_OP_FIRST;
  if (info.position == Position::kOnly) flags |= WEFT_OP_ONLY;
  if (!info.carries_payload) flags |= WEFT_OP_EMPTY;
  return {static_cast<__u8>(flags), info.extension_bytes};
}

const bpf_map* find_map(const weft_xdp& skeleton, MapName name) {
  const auto& maps = skeleton.maps;
  switch (name) {
    case MapName::kConfig:
      return maps.config;
    case MapName::kHeartbeats:
      return maps.heartbeats;
    case MapName::kDscpTags:
      return maps.dscp_tags;
    case MapName::kQpTags:
      return maps.qp_tags;
    case MapName::kMessageTags:
      return maps.message_tags;
    case MapName::kPeers:
      return maps.peers;
    case MapName::kLocalAddresses:
      return maps.local_addresses;
    case MapName::kFlows:
      return maps.flows;
    case MapName::kPairs:
      return maps.pairs;
    case MapName::kCounters:
      return maps.counters;
    case MapName::kXsksLan:
      return maps.xsks_lan;
    case MapName::kXsksWan:
      return maps.xsks_wan;
  }
  __builtin_unreachable();
}

std::string attach_hint(int error) {
  switch (error) {
    case EBUSY:
      return "another XDP program is attached: 'ip link set dev IFACE xdp off', or stop its owner";
    case ERANGE:
    case EINVAL:
      return "the driver refuses XDP at this MTU or with these offloads; lower the MTU, or set xdp = "
             "\"generic\" for this port";
    case EOPNOTSUPP:
      return "the driver has no native XDP; set xdp = \"generic\" for this port";
    case EPERM:
      return "needs CAP_NET_ADMIN and CAP_BPF";
    default:
      return {};
  }
}

}  // namespace

void XdpPrograms::Unload::operator()(weft_xdp* skeleton) const { weft_xdp__destroy(skeleton); }

XdpPrograms::XdpPrograms(XdpPrograms&& other) noexcept
    : skeleton_(std::move(other.skeleton_)),
      links_{std::move(other.links_[0]), std::move(other.links_[1])},
      heartbeats_(std::exchange(other.heartbeats_, nullptr)) {}

XdpPrograms& XdpPrograms::operator=(XdpPrograms&& other) noexcept {
  std::swap(skeleton_, other.skeleton_);
  std::swap(links_, other.links_);
  std::swap(heartbeats_, other.heartbeats_);
  return *this;
}

XdpPrograms::~XdpPrograms() {
  if (heartbeats_ != nullptr) ::munmap(const_cast<std::uint64_t*>(heartbeats_), kHeartbeatBytes);
}

Result<XdpPrograms> XdpPrograms::load(std::uint32_t flow_capacity) {
  libbpf_set_print(keep_warning);
  XdpPrograms programs;
  programs.skeleton_.reset(weft_xdp__open());
  if (!programs.skeleton_) return fail_errno("cannot open the XDP programs");
  weft_xdp& skeleton = *programs.skeleton_;
  for (const roce::OpcodeInfo& info : roce::opcode_table()) {
    skeleton.rodata->opcodes[static_cast<std::uint8_t>(info.opcode)] = abi_opcode(info);
  }
  bpf_map__set_max_entries(skeleton.maps.flows, flow_capacity);
  bpf_map__set_max_entries(skeleton.maps.pairs, flow_capacity);
  last_warning().clear();
  if (const int error = weft_xdp__load(&skeleton); error != 0) {
    errno = -error;
    return fail_errno("the kernel does not take the XDP programs" +
                          (last_warning().empty() ? "" : " (" + last_warning() + ")"),
                      {}, "needs CAP_BPF and CAP_NET_ADMIN, and Linux 5.18 or later");
  }
  void* memory = ::mmap(nullptr, kHeartbeatBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                        programs.map_fd(MapName::kHeartbeats), 0);
  if (memory == MAP_FAILED) return fail_errno("cannot map the heartbeat table");
  programs.heartbeats_ = static_cast<std::uint64_t*>(memory);
  return programs;
}

Status XdpPrograms::attach(recovery::Port port, const std::string& interface, AttachMode mode) {
  const unsigned index = ::if_nametoindex(interface.c_str());
  if (index == 0) return fail_errno("no such interface", interface);
  LIBBPF_OPTS(bpf_link_create_opts, options);
  options.flags = mode == AttachMode::kNative ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE;
  const int fd = bpf_link_create(program_fd(port), static_cast<int>(index), BPF_XDP, &options);
  if (fd < 0) {
    errno = -fd;
    return fail_errno(mode == AttachMode::kNative ? "cannot attach the XDP program natively"
                                                  : "cannot attach the XDP program generically",
                      interface, attach_hint(-fd));
  }
  links_[static_cast<std::size_t>(port)].reset(fd);
  return {};
}

void XdpPrograms::detach(recovery::Port port) { links_[static_cast<std::size_t>(port)].reset(); }

bool XdpPrograms::attached(recovery::Port port) const {
  bpf_link_info info{};
  __u32 info_bytes = sizeof(info);
  return bpf_obj_get_info_by_fd(links_[static_cast<std::size_t>(port)].get(), &info, &info_bytes) == 0 &&
         info.xdp.ifindex != 0;
}

int XdpPrograms::program_fd(recovery::Port port) const {
  return bpf_program__fd(port == recovery::Port::kLan ? skeleton_->progs.weft_lan
                                                      : skeleton_->progs.weft_wan);
}

int XdpPrograms::map_fd(MapName map) const { return bpf_map__fd(find_map(*skeleton_, map)); }

std::span<volatile std::uint64_t> XdpPrograms::heartbeats() { return {heartbeats_, WEFT_MAX_QUEUES}; }

Status XdpPrograms::update(MapName map, ByteView key, ByteView value) {
  if (bpf_map_update_elem(map_fd(map), key.data(), value.data(), BPF_ANY) != 0) {
    return fail_errno("cannot write a table entry", bpf_map__name(find_map(*skeleton_, map)));
  }
  return {};
}

Status XdpPrograms::erase(MapName map, ByteView key) {
  if (bpf_map_delete_elem(map_fd(map), key.data()) != 0 && errno != ENOENT) {
    return fail_errno("cannot remove a table entry", bpf_map__name(find_map(*skeleton_, map)));
  }
  return {};
}

Result<Bytes> XdpPrograms::lookup(MapName map, ByteView key) {
  const bpf_map* handle = find_map(*skeleton_, map);
  std::size_t value_bytes = bpf_map__value_size(handle);
  if (map == MapName::kCounters) {
    value_bytes = (value_bytes + 7) / 8 * 8 * static_cast<std::size_t>(libbpf_num_possible_cpus());
  }
  Bytes value(value_bytes);
  if (bpf_map_lookup_elem(map_fd(map), key.data(), value.data()) == 0) return value;
  if (errno == ENOENT) return Bytes{};
  return fail_errno("cannot read a table entry", bpf_map__name(handle));
}

Status XdpPrograms::for_each_key(MapName map, const std::function<void(ByteView key)>& visit) {
  Bytes key(bpf_map__key_size(find_map(*skeleton_, map)));
  Bytes next(key.size());
  const void* previous = nullptr;
  while (bpf_map_get_next_key(map_fd(map), previous, next.data()) == 0) {
    visit(next);
    key = next;
    previous = key.data();
  }
  if (errno != ENOENT) return fail_errno("cannot walk a table", bpf_map__name(find_map(*skeleton_, map)));
  return {};
}

}  // namespace weft::dataplane
