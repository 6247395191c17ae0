// The fill log as a file (weft-fill/1, JSON Lines): what `weftd --fill-log` writes. Control thread only; the records
// come out of the worker's bounded log. What that could not keep, and what the file could not take (a full disk), is
// counted here; the file goes on with whole lines as soon as it can.
#pragma once

#include <cstdint>
#include <string>

#include "agent/base/result.h"
#include "agent/base/unique_fd.h"
#include "agent/recovery/fill_log.h"
#include "agent/recovery/policy.h"

namespace weft::daemon {

class FillFile {
 public:
  // Begins an empty file.
  static Result<FillFile> create(const std::string& path);

  // Appends, and has it in the file when it returns. An error means that fills are not declared; that the file takes
  // nothing is said once, until it does again.
  Status append(const recovery::FillLog::Taken& taken, const recovery::PolicyTable& policy);

  std::uint64_t missed() const { return missed_; }  // fills that happened and are in no line

 private:
  FillFile(std::string path, UniqueFd file) : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;
  UniqueFd file_;
  bool failing_ = false;
  std::uint64_t missed_ = 0;
};

}  // namespace weft::daemon
