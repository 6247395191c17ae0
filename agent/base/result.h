// agent/base: the few things every part of Weft shares: errors as values, big-endian bytes, units, seeded randomness;
// and for the programs clocks, files, signals.
//
// Errors are values. A fallible function returns Result<T>; the Error says what failed, where, and what the
// operator can do about it, so that a message can be printed at the top without knowing how it came about.
#pragma once

#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace weft {

struct Error {
  int code = 0;       // an errno value, 0 where no system call was involved
  std::string what;   // what is wrong, in one clause: "unknown key 'interfce'"
  std::string where;  // the place: "weftd.toml:12", "lan0", "capture.pcap packet 3"; may be empty
  std::string hint;   // what to do about it; may be empty

  // One or two lines for stderr: "WHERE: WHAT: STRERROR" and, when there is one, "HINT: ...".
  std::string to_string() const;
};

template <class T>
using Result = tl::expected<T, Error>;

// Success without a value.
using Status = Result<void>;

// The error side of a Result.
inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }
tl::unexpected<Error> fail(std::string what, std::string where = {}, std::string hint = {});

// An error from a system call: takes errno at the time of the call.
tl::unexpected<Error> fail_errno(std::string what, std::string where = {}, std::string hint = {});

}  // namespace weft
