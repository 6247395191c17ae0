// P1 in the receivers' memory, when all is over: every byte is the one sent, or zero and declared.
#pragma once

#include <string>
#include <vector>

#include "agent/recovery/fill_record.h"
#include "testbed/sim/transfer.h"
#include "tests/property/sighting.h"

namespace weft::test {

// `told_all`: every undoing of a fill came to an agent's ears, so that what is declared must be zero, too.
void judge_memory(const sim::Transfer& transfer, std::uint32_t pmtu_bytes,
                  const std::vector<recovery::FillRecord>& records, bool told_all, Complaints& complaints);

// The messages that did not complete, or were not delivered whole.
std::string describe_failures(const sim::Transfer& transfer);

}  // namespace weft::test
