// The seam in front of libbpf's maps: what the agent writes into and reads from the XDP programs' tables. The
// programs implement it for real (xdp_programs.h); tests implement it with std::map, so everything above runs
// without root.
#pragma once

#include <cstdint>
#include <functional>
#include <type_traits>

#include "agent/base/bytes.h"
#include "agent/base/result.h"

namespace weft::dataplane {

// Names of the maps in bpf/maps.h that user space works on.
enum class MapName : std::uint8_t {
  kConfig,
  kHeartbeats,
  kDscpTags,
  kQpTags,
  kMessageTags,
  kPeers,
  kLocalAddresses,
  kFlows,
  kPairs,
  kCounters,  // per CPU: a lookup returns one value per possible CPU, one after the other
  kXsksLan,
  kXsksWan,
};

// Keys and values are the structs of bpf/weft_abi.h as bytes. Any thread may call: the kernel serialises.
class MapStore {
 public:
  virtual ~MapStore() = default;

  virtual Status update(MapName map, ByteView key, ByteView value) = 0;
  // Erasing what is not there is fine.
  virtual Status erase(MapName map, ByteView key) = 0;
  // Empty when there is no such entry.
  virtual Result<Bytes> lookup(MapName map, ByteView key) = 0;
  // Calls `visit` with every key; entries that come or go meanwhile may or may not be seen. The map must not be
  // changed by `visit`.
  virtual Status for_each_key(MapName map, const std::function<void(ByteView key)>& visit) = 0;
};

// An ABI struct as bytes.
template <class T>
ByteView as_bytes(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return {reinterpret_cast<const std::uint8_t*>(&value), sizeof(T)};
}

}  // namespace weft::dataplane
