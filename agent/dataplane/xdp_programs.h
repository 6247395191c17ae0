// The XDP programs of the lan and wan port: loaded together, attached one by one, their maps behind MapStore.
// Attachment is a bpf_link that is not pinned anywhere: when this object or the whole process goes, the kernel
// detaches the program and the bridge has the traffic back.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "agent/base/unique_fd.h"
#include "agent/dataplane/map_store.h"
#include "agent/recovery/engine_io.h"

struct weft_xdp;  // the skeleton bpftool generates

namespace weft::dataplane {

enum class AttachMode : std::uint8_t {
  kNative,   // in the driver
  kGeneric,  // after the driver made an sk_buff: slow, works on any device; only when the operator asks
};

class XdpPrograms final : public MapStore {
 public:
  // Loads both programs with room for `flow_capacity` flows. Attaches nothing. Needs CAP_BPF and CAP_NET_ADMIN.
  static Result<XdpPrograms> load(std::uint32_t flow_capacity);

  XdpPrograms(XdpPrograms&&) noexcept;
  XdpPrograms& operator=(XdpPrograms&&) noexcept;
  ~XdpPrograms() override;

  Status attach(recovery::Port port, const std::string& interface, AttachMode mode);
  void detach(recovery::Port port);
  // Not any more when the interface has gone, or somebody took the program off by force.
  bool attached(recovery::Port port) const;

  int program_fd(recovery::Port port) const;
  int map_fd(MapName map) const;

  // One word per queue: CLOCK_MONOTONIC nanoseconds, written by that queue's data-path thread alone. Mapped:
  // writing costs no system call. Valid as long as this object.
  std::span<volatile std::uint64_t> heartbeats();

  Status update(MapName map, ByteView key, ByteView value) override;
  Status erase(MapName map, ByteView key) override;
  Result<Bytes> lookup(MapName map, ByteView key) override;
  Status for_each_key(MapName map, const std::function<void(ByteView key)>& visit) override;

 private:
  struct Unload {
    void operator()(weft_xdp* skeleton) const;
  };
  XdpPrograms() = default;

  std::unique_ptr<weft_xdp, Unload> skeleton_;
  UniqueFd links_[2];  // by Port
  volatile std::uint64_t* heartbeats_ = nullptr;
};

}  // namespace weft::dataplane
