#include "agent/control/api.h"

#include <array>
#include <cerrno>
#include <utility>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "agent/base/unique_fd.h"

namespace weft::control {
namespace {

using nlohmann::json;

constexpr timeval kAnswerPatience{5, 0};

}  // namespace

json success(json result) { return {{"ok", true}, {"result", std::move(result)}}; }

json failure(const Error& error) {
  return {
      {"ok", false},
      {"error", {{"code", error.code}, {"what", error.what}, {"where", error.where}, {"hint", error.hint}}}};
}

Result<json> call_agent(const std::string& socket_path, const json& request) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof(address.sun_path))
    return fail("the path of the socket is too long", socket_path);
  socket_path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return fail_errno("cannot make a socket");
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &kAnswerPatience, sizeof(kAnswerPatience));
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return fail_errno("cannot reach weftd", socket_path,
                      errno == EACCES ? "run as root, or as the user weftd runs as"
                                      : "is weftd running? --socket names its [api] socket");
  }
  const std::string line = request.dump() + "\n";
  if (::send(fd.get(), line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size())) {
    return fail_errno("cannot ask weftd", socket_path);
  }
  std::string text;
  std::array<char, 65536> piece;
  for (;;) {
    const ssize_t got = ::recv(fd.get(), piece.data(), piece.size(), 0);
    if (got < 0) return fail_errno("weftd does not answer", socket_path, "its log says what it is doing");
    if (got == 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  const json answer = json::parse(text, nullptr, false);
  if (!answer.is_object() || !answer.contains("ok")) {
    return fail("weftd closed the connection without an answer", socket_path,
                "it answers root and its own user only");
  }
  if (answer["ok"].get<bool>()) return answer.value("result", json());
  const json error = answer.value("error", json::object());
  return fail(Error{error.value("code", 0), error.value("what", std::string("unknown error")),
                    error.value("where", std::string()), error.value("hint", std::string())});
}

}  // namespace weft::control
