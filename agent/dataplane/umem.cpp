#include "agent/dataplane/umem.h"

#include <utility>

#include <sys/mman.h>

namespace weft::dataplane {

Result<Umem> Umem::allocate(std::size_t chunks) {
  Umem umem;
  const std::size_t size_bytes = chunks * kChunkBytes;
  void* memory = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return fail_errno("cannot allocate " + std::to_string(size_bytes >> 20) + " MiB for frames", {},
                      "lower caps.hold_bytes");
  }
  umem.base_ = static_cast<std::uint8_t*>(memory);
  umem.size_bytes_ = size_bytes;
  return umem;
}

Umem::Umem(Umem&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), size_bytes_(std::exchange(other.size_bytes_, 0)) {}

Umem& Umem::operator=(Umem&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

Umem::~Umem() {
  if (base_ != nullptr) ::munmap(base_, size_bytes_);
}

}  // namespace weft::dataplane
