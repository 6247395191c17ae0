// Sequential reading and writing of big-endian fields.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "agent/base/bytes.h"

namespace weft::wire {

// A read past the end gives zeros and makes ok() false for good, so a decoder may read a fixed part field by
// field and check once. No value may be acted upon before ok() has been seen true.
class ByteReader {
 public:
  explicit ByteReader(ByteView bytes) : left_(bytes) {}

  std::uint8_t u8() { return has(1) ? take(1)[0] : std::uint8_t{0}; }
  std::uint16_t u16() { return has(2) ? load_be16(take(2)) : std::uint16_t{0}; }
  std::uint32_t u24() { return has(3) ? load_be24(take(3)) : 0; }
  std::uint32_t u32() { return has(4) ? load_be32(take(4)) : 0; }
  std::uint64_t u64() { return has(8) ? load_be64(take(8)) : 0; }
  // The next `count` bytes, not copied; empty when there are fewer.
  ByteView bytes(std::size_t count) { return has(count) ? ByteView(take(count), count) : ByteView(); }
  // Copies as many bytes as `out` holds.
  void copy_to(MutableByteView out) { std::ranges::copy(bytes(out.size()), out.begin()); }

  bool ok() const { return ok_; }
  std::size_t left() const { return left_.size(); }
  bool at_end() const { return ok_ && left_.empty(); }

 private:
  bool has(std::size_t count) {
    ok_ = ok_ && left_.size() >= count;
    return ok_;
  }
  const std::uint8_t* take(std::size_t count) {
    const std::uint8_t* first = left_.data();
    left_ = left_.subspan(count);
    return first;
  }

  ByteView left_;
  bool ok_ = true;
};

// The caller has made sure that everything fits.
class ByteWriter {
 public:
  explicit ByteWriter(MutableByteView out) : next_(out.data()), first_(out.data()) {}

  void u8(std::uint8_t v) { *advance(1) = v; }
  void u16(std::uint16_t v) { store_be16(advance(2), v); }
  void u24(std::uint32_t v) { store_be24(advance(3), v); }
  void u32(std::uint32_t v) { store_be32(advance(4), v); }
  void u64(std::uint64_t v) { store_be64(advance(8), v); }
  void bytes(ByteView v) { std::ranges::copy(v, advance(v.size())); }
  std::size_t written() const { return static_cast<std::size_t>(next_ - first_); }

 private:
  std::uint8_t* advance(std::size_t count) {
    std::uint8_t* at = next_;
    next_ += count;
    return at;
  }
  std::uint8_t* next_;
  std::uint8_t* first_;
};

}  // namespace weft::wire
