#include "agent/daemon/api_server.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <optional>
#include <thread>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "agent/control/api.h"

namespace weft::daemon {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

// A server in a folder of its own.
class ApiServerTest : public testing::Test {
 protected:
  ApiServerTest() {
    std::string name = testing::TempDir() + "weft-api-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    server_.emplace(*ApiServer::listen(path()));
  }
  ~ApiServerTest() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::string path() const { return (folder_ / "api.sock").string(); }
  bool somebody_calls(int patience_ms) const {
    pollfd waiting{server_->fd(), POLLIN, 0};
    return ::poll(&waiting, 1, patience_ms) == 1;
  }
  UniqueFd call() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof(address.sun_path) - 1);
    UniqueFd caller(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(caller.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    return caller;
  }
  Result<json> ask(const json& request, const ApiServer::Handler& handler) {
    auto answer = std::async(std::launch::async, [&] { return control::call_agent(path(), request); });
    EXPECT_TRUE(somebody_calls(10'000));
    server_->serve(handler);
    return answer.get();
  }

  std::filesystem::path folder_;
  std::optional<ApiServer> server_;
};

Result<json> repeat_mode(const json& request) { return json(request.value("mode", std::string())); }

TEST_F(ApiServerTest, AFieldOfAnotherTypeIsRefusedNotFatal) {
  EXPECT_EQ(ask({{"command", "mode"}, {"mode", "bypass"}}, repeat_mode)->get<std::string>(), "bypass");
  for (const json& mode : {json(5), json(nullptr), json::array({"bypass"}), json::object()}) {
    const auto answer = ask({{"command", "mode"}, {"mode", mode}}, repeat_mode);
    ASSERT_FALSE(answer) << mode;
    EXPECT_NE(answer.error().what.find("type must be string"), std::string::npos) << answer.error().what;
  }
}

TEST_F(ApiServerTest, AMessageMayQuoteAnyBytes) {
  const auto answer = ask({{"command", "reload"}}, [](const json&) -> Result<json> {
    return fail("cannot read", "/etc/weft/\xff.toml");
  });
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().what, "cannot read");
}

TEST_F(ApiServerTest, CallersThatSayNothingAreTakenOneAtATime) {
  const UniqueFd first = call();
  const UniqueFd second = call();
  server_->serve(repeat_mode);
  EXPECT_TRUE(somebody_calls(0)) << "both were waited for";
  server_->serve(repeat_mode);
  EXPECT_FALSE(somebody_calls(0));
}

TEST_F(ApiServerTest, ALineThatTricklesInIsNotWaitedFor) {
  const UniqueFd caller = call();
  std::atomic<bool> served = false;
  std::thread trickle([&] {
    for (int i = 0; i < 200 && !served; ++i) {
      ::send(caller.get(), "x", 1, MSG_NOSIGNAL);
      std::this_thread::sleep_for(20ms);
    }
  });
  const auto before = std::chrono::steady_clock::now();
  server_->serve(repeat_mode);
  served = true;
  trickle.join();
  EXPECT_LT(std::chrono::steady_clock::now() - before, 3s);
}

}  // namespace
}  // namespace weft::daemon
