// The memory frames live in: one area per process, cut into chunks, shared by every AF_XDP socket. A chunk is a
// page, the largest the kernel takes without huge pages. It is pinned while a socket uses it, so all of it counts
// as resident.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "agent/base/result.h"

namespace weft::dataplane {

inline constexpr std::size_t kChunkBytes = 4096;

// Room the kernel leaves in front of a received frame (XDP_PACKET_HEADROOM); metadata is at its end. What
// fits behind it arrives in one descriptor.
inline constexpr std::size_t kReceiveHeadroomBytes = 256;
inline constexpr std::size_t kSingleChunkFrameBytes = kChunkBytes - kReceiveHeadroomBytes;

class Umem {
 public:
  static Result<Umem> allocate(std::size_t chunks);

  Umem(Umem&& other) noexcept;
  Umem& operator=(Umem&& other) noexcept;
  ~Umem();

  std::span<std::uint8_t> bytes() const { return {base_, size_bytes_}; }

 private:
  Umem() = default;
  std::uint8_t* base_ = nullptr;
  std::size_t size_bytes_ = 0;
};

}  // namespace weft::dataplane
