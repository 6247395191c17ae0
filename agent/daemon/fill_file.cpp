#include "agent/daemon/fill_file.h"

#include <fmt/format.h>

namespace weft::daemon {

Result<FillFile> FillFile::create(const std::string& path) {
  std::ofstream file(path, std::ios::trunc);
  if (!file) return fail_errno("cannot write the fill log", path);
  return FillFile(path, std::move(file));
}

Status FillFile::append(const recovery::FillLog::Taken& taken, const recovery::PolicyTable& policy) {
  for (const recovery::FillRecord& record : taken.records)
    file_ << to_json_line(record, policy.classes[record.tag.class_id].name) << '\n';
  file_.flush();
  missed_ += taken.missed;
  if (!file_) return fail_errno("cannot write the fill log", path_);
  if (taken.missed != 0)
    return fail(fmt::format("{} fills came faster than they were written", taken.missed), path_);
  return {};
}

}  // namespace weft::daemon
