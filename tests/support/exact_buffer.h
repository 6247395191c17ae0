// A copy of some bytes in a heap buffer of exactly their size, so that AddressSanitizer sees a read of even
// one byte beyond them. (A vector may have spare capacity.)
#pragma once

#include <algorithm>
#include <memory>

#include "agent/base/bytes.h"

namespace weft::test {

class ExactBuffer {
 public:
  explicit ExactBuffer(ByteView bytes)
      : data_(std::make_unique<std::uint8_t[]>(bytes.size())), bytes_(bytes.size()) {
    std::ranges::copy(bytes, data_.get());
  }
  ByteView view() const { return {data_.get(), bytes_}; }

 private:
  std::unique_ptr<std::uint8_t[]> data_;
  std::size_t bytes_;
};

}  // namespace weft::test
