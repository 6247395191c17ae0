// The fill log as a file (weft-fill/1, JSON Lines): what `weftd --fill-log` writes. Control thread only; the records
// come out of the worker's bounded log, and what that could not keep is counted here.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "agent/base/result.h"
#include "agent/recovery/fill_log.h"
#include "agent/recovery/policy.h"

namespace weft::daemon {

class FillFile {
 public:
  // Begins an empty file.
  static Result<FillFile> create(const std::string& path);

  // Appends, and has it in the file when it returns. An error means that a fill is not declared.
  Status append(const recovery::FillLog::Taken& taken, const recovery::PolicyTable& policy);

  std::uint64_t missed() const { return missed_; }  // fills that happened and are in no line

 private:
  FillFile(std::string path, std::ofstream file) : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;
  std::ofstream file_;
  std::uint64_t missed_ = 0;
};

}  // namespace weft::daemon
