#include "agent/daemon/doorbell.h"

#include <cstdint>

#include <sys/eventfd.h>
#include <unistd.h>

namespace weft::daemon {

Result<Doorbell> Doorbell::create() {
  UniqueFd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd) return fail_errno("cannot create an eventfd");
  return Doorbell(std::move(fd));
}

void Doorbell::ring() const {
  const std::uint64_t once = 1;
  // It fails only after 2^64 unanswered rings.
  static_cast<void>(::write(fd_.get(), &once, sizeof(once)) == sizeof(once));
}

bool Doorbell::answer() const {
  std::uint64_t rings = 0;
  return ::read(fd_.get(), &rings, sizeof(rings)) == sizeof(rings);
}

}  // namespace weft::daemon
