// weftd's end of the local API (agent/control/api.h). Runs on the control thread, one caller at a time; one that does not
// send its line, or take its answer, within a fraction of a second is hung up on.
#pragma once

#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include "agent/base/result.h"
#include "agent/base/unique_fd.h"

namespace weft::daemon {

class ApiServer {
 public:
  using Handler = std::function<Result<nlohmann::json>(const nlohmann::json& request)>;

  // Listens at `path`. A socket left there by an agent that died is replaced; one that answers is not.
  static Result<ApiServer> listen(const std::string& path);
  ApiServer(ApiServer&&) noexcept = default;
  ApiServer& operator=(ApiServer&&) noexcept = default;
  ~ApiServer();

  int fd() const { return listener_.get(); }  // readable: somebody calls
  // Answers the next of those who call: between two of them the control thread has other things to do.
  void serve(const Handler& handler);

 private:
  ApiServer(std::string path, UniqueFd listener) : path_(std::move(path)), listener_(std::move(listener)) {}
  std::string path_;
  UniqueFd listener_;
};

}  // namespace weft::daemon
