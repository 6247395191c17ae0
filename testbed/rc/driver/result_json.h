// What weft-roce writes at its end (`weft-roce/1`): testbed/rc/README.md describes it.
#pragma once

#include <nlohmann/json.hpp>

#include "testbed/rc/driver/fill_log.h"
#include "testbed/rc/driver/options.h"
#include "testbed/rc/driver/requester_app.h"
#include "testbed/rc/driver/responder_app.h"

namespace weft::rc {

struct RunFacts {
  std::uint64_t start_unix_ns = 0;
  Nanoseconds elapsed{0};
  std::uint64_t rx_overruns = 0;
};

nlohmann::ordered_json requester_result(const Options& options, const Plan& plan, const RequesterApp& app,
                                        const Counters& counters, const RunFacts& facts);

// `fills` by message id.
nlohmann::ordered_json responder_result(const Options& options, const Plan& plan, const ResponderApp& app,
                                        const DeclaredFills& fills, const Counters& counters,
                                        const RunFacts& facts);

}  // namespace weft::rc
