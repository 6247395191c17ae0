// What an agent says it filled (`weft-fill/1`, JSON Lines), as ranges of the messages of a plan. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "agent/base/result.h"
#include "testbed/rc/driver/plan.h"
#include "testbed/rc/payload.h"

namespace weft::rc {

// By message id: the declared ranges, ascending and disjoint. A line that names no packet of the plan is an
// error, since an agent that reports fills nobody can place is wrong. `where` names the text.
using DeclaredFills = std::vector<std::vector<ByteRange>>;
Result<DeclaredFills> read_fill_log(std::string_view text, const Plan& plan, std::uint32_t pmtu_bytes,
                                    std::string_view where);

// Bytes of `runs` (ascending, disjoint) that no range of `declared` covers.
std::uint64_t undeclared_bytes(const std::vector<ByteRange>& runs, const std::vector<ByteRange>& declared);

std::uint64_t total_bytes(const std::vector<ByteRange>& ranges);

}  // namespace weft::rc
