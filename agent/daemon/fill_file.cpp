#include "agent/daemon/fill_file.h"

#include <cerrno>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>

namespace weft::daemon {
namespace {

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

Result<FillFile> FillFile::create(const std::string& path) {
  // Not waiting for the reader of a pipe; appending, so that somebody may cut the file short while it grows.
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0644));
  if (!file) return fail_errno("cannot write the fill log", path);
  return FillFile(path, std::move(file));
}

Status FillFile::append(const recovery::FillLog::Taken& taken, const recovery::PolicyTable& policy) {
  missed_ += taken.missed;
  std::string lines;
  for (const recovery::FillRecord& record : taken.records)
    lines.append(to_json_line(record, policy.classes[record.tag.class_id].name)).push_back('\n');
  const off_t end = ::lseek(file_.get(), 0, SEEK_END);
  if (!write_all(file_.get(), lines)) {
    const Error error{errno, "cannot write the fill log", path_, "status counts what is in no line of it"};
    missed_ += taken.records.size();
    // What was written of it would spoil the lines after it; of a pipe nothing can be taken back.
    static_cast<void>(end >= 0 && ::ftruncate(file_.get(), end) == 0);
    if (!std::exchange(failing_, true)) return fail(error);
    return {};
  }
  failing_ &= lines.empty();
  if (taken.missed != 0)
    return fail(fmt::format("{} fills came faster than they were written", taken.missed), path_);
  return {};
}

}  // namespace weft::daemon
