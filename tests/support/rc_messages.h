// Shorthand for tests that move messages from World's host A to B.
#pragma once

#include <algorithm>

#include "tests/support/rc_world.h"

namespace weft::test {

// A request of host A on kQpnA. Message `number` of the queue pair (from 0) carries the pattern's bytes.
inline rc::WorkRequest request(const World& world, rc::WorkOp op, std::uint32_t bytes,
                               std::uint64_t number = 0, std::uint64_t va = kVa) {
  rc::WorkRequest work;
  work.id = number;
  work.op = op;
  work.bytes = bytes;
  work.payload = world.pattern().message(kQpnB, number);
  work.va = va;
  work.rkey = kRkey;
  work.imm = 0xabcd;
  return work;
}

// True when `delivered` holds exactly the bytes of message `number`.
inline bool exact(const World& world, ByteView delivered, std::uint64_t number = 0) {
  const rc::PayloadCheck check = rc::check_payload(world.pattern().message(kQpnB, number), delivered);
  return check.corrupt_bytes == 0 && check.zero_runs.empty();
}

inline std::vector<Copy> once(const Sent& sent) {
  std::vector<Copy> copies(1);
  copies[0].frame.assign(sent.frame.begin(), sent.frame.end());
  return copies;
}

// A fate that loses the frames whose number in their direction is listed, and delivers the rest once.
inline auto lose(End from, std::vector<std::uint64_t> numbers) {
  return [from, numbers = std::move(numbers)](const Sent& sent) {
    const bool lost =
        sent.from == from && std::find(numbers.begin(), numbers.end(), sent.number) != numbers.end();
    return lost ? std::vector<Copy>{} : once(sent);
  };
}

}  // namespace weft::test
