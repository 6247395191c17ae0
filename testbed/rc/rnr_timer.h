// The wait an RNR NAK asks for (IBTA volume 1, table 45: encoding of the RNR NAK timer field).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

#include "agent/base/units.h"

namespace weft::rc {

// `syndrome` is the AETH's; its low five bits are the code.
constexpr Nanoseconds rnr_wait(std::uint8_t syndrome) {
  // In units of 10 us.
  constexpr std::array<std::uint32_t, 32> kTens{
      65536, 1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
      256,   384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
  return std::chrono::microseconds(10 * kTens[syndrome & 0x1f]);
}

}  // namespace weft::rc
