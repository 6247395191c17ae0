#include "agent/daemon/api_server.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/control/api.h"

namespace weft::daemon {
namespace {

using nlohmann::json;

// For all of a caller's line, and for all of the answer: the control thread also feeds the watchdog and supervises the
// data path ten times a second.
constexpr std::chrono::milliseconds kCallerPatience{200};
constexpr int kBacklog = 8;

bool may_call(int caller) {
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  if (::getsockopt(caller, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return false;
  return credentials.uid == 0 || credentials.uid == ::geteuid();
}

class Patience {
 public:
  // False when it is over before the caller is ready for `event`.
  bool wait(int caller, short event) const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until_ - std::chrono::steady_clock::now());
    pollfd waiting{caller, event, 0};
    return left.count() > 0 && ::poll(&waiting, 1, static_cast<int>(left.count())) == 1;
  }

 private:
  std::chrono::steady_clock::time_point until_ = std::chrono::steady_clock::now() + kCallerPatience;
};

std::optional<std::string> read_line(int caller) {
  std::string text;
  std::array<char, control::kMaxRequestBytes> piece;
  const Patience patience;
  while (text.size() < control::kMaxRequestBytes && patience.wait(caller, POLLIN)) {
    const ssize_t got = ::recv(caller, piece.data(), piece.size(), MSG_DONTWAIT);
    if (got <= 0) return std::nullopt;
    text.append(piece.data(), static_cast<std::size_t>(got));
    if (const auto end = text.find('\n'); end != std::string::npos) return text.substr(0, end);
  }
  return std::nullopt;
}

void write_all(int caller, const std::string& text) {
  std::size_t sent = 0;
  const Patience patience;
  while (sent < text.size() && patience.wait(caller, POLLOUT)) {
    const ssize_t put = ::send(caller, text.data() + sent, text.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put <= 0) return;
    sent += static_cast<std::size_t>(put);
  }
}

// Whatever a request holds, the agent outlives it: a field of another type than the handler expects is an answer, too.
Result<json> result_of(const std::string& line, const ApiServer::Handler& handler) {
  constexpr const char* kExample = R"({"command": "status"})";
  const json request = json::parse(line, nullptr, false);
  const bool sensible = request.is_object() && request.contains("command") && request["command"].is_string();
  if (!sensible) return fail("not a request", {}, kExample);
  try {
    return handler(request);
  } catch (const json::exception& error) {
    return fail(error.what(), {}, kExample);
  }
}

}  // namespace

Result<ApiServer> ApiServer::listen(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return fail("the path is too long", path, "[api] socket takes at most 107 characters");
  }
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);

  const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(probe.get(), generic, sizeof(address)) == 0) {
    return fail("another weftd answers there", path, "stop it, or give this one another [api] socket");
  }
  struct stat found {};
  if (::lstat(path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode)) ::unlink(path.c_str());

  UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const mode_t before = ::umask(0177);
  const bool bound = ::bind(listener.get(), generic, sizeof(address)) == 0;
  const int bind_error = errno;
  ::umask(before);
  errno = bind_error;
  if (!bound) return fail_errno("cannot listen", path, "[api] socket names a place weftd may write to");
  if (::listen(listener.get(), kBacklog) != 0) return fail_errno("cannot listen", path);
  return ApiServer(path, std::move(listener));
}

ApiServer::~ApiServer() {
  if (listener_) ::unlink(path_.c_str());
}

void ApiServer::serve(const Handler& handler) {
  const UniqueFd caller(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!caller || !may_call(caller.get())) return;
  const auto line = read_line(caller.get());
  if (!line) return;
  const Result<json> result = result_of(*line, handler);
  const json answer = result ? control::success(*result) : control::failure(result.error());
  // Messages may quote names of files, which are bytes of any kind.
  write_all(caller.get(), answer.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
}

}  // namespace weft::daemon
