// Memory for the rows of a block, reused from block to block: aligned to cache lines, and spaced so that the
// rows, which are written side by side, do not compete for the same cache sets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::fec {

class RowBuffer {
 public:
  // Room for `rows` rows of `row_bytes`; grows, never shrinks. The contents are lost.
  void reserve(std::size_t rows, std::size_t row_bytes) {
    // An odd number of lines: an even one would put rows of 2 KiB or 4 KiB on top of each other in the cache.
    stride_lines_ = ((row_bytes + kLineBytes - 1) / kLineBytes) | 1;
    if (lines_.size() < rows * stride_lines_) lines_.resize(rows * stride_lines_);
  }

  std::uint8_t* row(std::size_t index) { return lines_[index * stride_lines_].bytes.data(); }
  const std::uint8_t* row(std::size_t index) const { return lines_[index * stride_lines_].bytes.data(); }

 private:
  static constexpr std::size_t kLineBytes = 64;
  struct alignas(kLineBytes) Line {
    std::array<std::uint8_t, kLineBytes> bytes;
  };
  std::vector<Line> lines_;
  std::size_t stride_lines_ = 0;
};

}  // namespace weft::fec
