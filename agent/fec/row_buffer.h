// Memory for the rows of a block, reused from block to block: aligned to cache lines, and spaced so that the
// rows, which are written side by side, do not get in each other's way.
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
    stride_lines_ = (row_bytes + kLineBytes - 1) / kLineBytes;
    while (!is_apart(stride_lines_))
      ++stride_lines_;
    if (lines_.size() < rows * stride_lines_) lines_.resize(rows * stride_lines_);
  }

  std::uint8_t* row(std::size_t index) { return lines_[index * stride_lines_].bytes.data(); }
  const std::uint8_t* row(std::size_t index) const { return lines_[index * stride_lines_].bytes.data(); }

 private:
  static constexpr std::size_t kLineBytes = 64;
  struct alignas(kLineBytes) Line {
    std::array<std::uint8_t, kLineBytes> bytes;
  };

  // Processors compare only the last 12 bits of addresses at first: a store to one row makes a load from another wait
  // where they agree ("4K aliasing"). Rows are written up to six side by side (ISA-L's widest kernel), so those must be
  // half a KiB apart modulo 4 KiB. There is such a stride within a KiB of any.
  static constexpr bool is_apart(std::size_t stride_lines) {
    constexpr std::size_t kPageLines = 4096 / kLineBytes;
    constexpr std::size_t kApartLines = 8;
    for (std::size_t rows = 1; rows < 6; ++rows) {
      const std::size_t distance = rows * stride_lines % kPageLines;
      if (distance < kApartLines || distance > kPageLines - kApartLines) return false;
    }
    return true;
  }

  std::vector<Line> lines_;
  std::size_t stride_lines_ = 0;
};

}  // namespace weft::fec
