// P1 in the receivers' memory, when all is over: every byte is the one sent, or zero and declared.
#pragma once

#include <string>
#include <vector>

#include "agent/recovery/fill_record.h"
#include "testbed/sim/transfer.h"
#include "tests/property/sighting.h"

namespace weft::test {

// Returns how many bytes were declared zero and are not: undone later than agents wait to hear of it (decision 0095), which
// costs the job a little accuracy and breaks no promise.
std::uint64_t judge_memory(const sim::Transfer& transfer, std::uint32_t pmtu_bytes,
                           const std::vector<recovery::FillRecord>& records, Complaints& complaints);

// The messages that did not complete, or were not delivered whole.
std::string describe_failures(const sim::Transfer& transfer);

}  // namespace weft::test
