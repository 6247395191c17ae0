// The seed of this test run: printed at the start, taken from --seed=N or WEFT_TEST_SEED, else from the
// clock.
#pragma once

#include <cstdint>

#include "agent/base/rng.h"

namespace weft::test {

std::uint64_t seed();

// A stream of its own for each caller, all following from seed().
inline Rng rng(std::uint64_t label) { return Rng::stream(seed(), label); }

}  // namespace weft::test
