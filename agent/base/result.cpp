#include "agent/base/result.h"

#include <cerrno>
#include <system_error>

#include <fmt/format.h>

namespace weft {

std::string Error::to_string() const {
  std::string text;
  if (!where.empty()) text += where + ": ";
  text += what;
  if (code != 0) text += ": " + std::generic_category().message(code);
  if (!hint.empty()) text += "\nHINT: " + hint;
  return text;
}

tl::unexpected<Error> fail(std::string what, std::string where, std::string hint) {
  return fail(Error{0, std::move(what), std::move(where), std::move(hint)});
}

tl::unexpected<Error> fail_errno(std::string what, std::string where, std::string hint) {
  const int code = errno;
  return fail(Error{code, std::move(what), std::move(where), std::move(hint)});
}

}  // namespace weft
