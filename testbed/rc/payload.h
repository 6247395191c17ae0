// What messages are made of, so that every delivered byte can be judged: sent, declared zero, or corrupt.
//
// The payload of a message follows from (key, QP, message number, offset). It holds no zero byte, because zero
// is what a filled packet delivers, and no poison byte, because poison is what a buffer holds before its
// message arrives. A byte left over from an earlier message, or put at another offset, is wrong: neighbouring
// messages of a queue pair start at different places of one random table whose length is prime, so a shift by
// whole packets never lands on the same bytes within 64 Ki packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent/base/bytes.h"

namespace weft::rc {

inline constexpr std::uint8_t kPoison = 0xa5;

class PayloadPattern;

// The bytes of one message: a place in the table. A value; valid as long as its pattern.
class Payload {
 public:
  Payload() = default;

  // `bytes` bytes from `offset`, contiguous and without copying; at most kLargestView.
  static constexpr std::size_t kLargestView = 4096;
  ByteView at(std::uint64_t offset, std::size_t bytes) const;

 private:
  friend class PayloadPattern;
  Payload(const PayloadPattern* pattern, std::uint32_t start) : pattern_(pattern), start_(start) {}
  const PayloadPattern* pattern_ = nullptr;
  std::uint32_t start_ = 0;
};

class PayloadPattern {
 public:
  explicit PayloadPattern(std::uint64_t key);
  PayloadPattern(const PayloadPattern&) = delete;
  PayloadPattern& operator=(const PayloadPattern&) = delete;

  // Message number `message` (0, 1, 2...) of the queue pair whose responder end has number `qpn`.
  Payload message(std::uint32_t qpn, std::uint64_t message) const;

 private:
  friend class Payload;
  Bytes table_;  // kTableBytes, then its first kLargestView bytes again
};

struct ByteRange {
  std::uint64_t offset_bytes = 0;
  std::uint64_t length_bytes = 0;
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

struct PayloadCheck {
  std::uint64_t corrupt_bytes = 0;   // neither the byte sent nor zero
  std::vector<ByteRange> zero_runs;  // ascending, maximal
};

// Compares what was delivered with what was sent. Runs at memory speed where they agree.
PayloadCheck check_payload(const Payload& sent, ByteView delivered);

// Fills a buffer with the bytes of a message.
void write_payload(const Payload& payload, MutableByteView out);

}  // namespace weft::rc
