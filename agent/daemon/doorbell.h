// How a data-path thread wakes the control thread: an eventfd in the control thread's poll(). Rung by any thread,
// without waiting; answered by the control thread. Many rings are one.
#pragma once

#include "agent/base/result.h"
#include "agent/base/unique_fd.h"

namespace weft::daemon {

class Doorbell {
 public:
  static Result<Doorbell> create();

  int fd() const { return fd_.get(); }  // readable: somebody rang
  void ring() const;
  // True when somebody rang since the last call.
  bool answer() const;

 private:
  explicit Doorbell(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace weft::daemon
