#include "agent/daemon/log.h"

#include <memory>
#include <sstream>
#include <string>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

namespace weft::daemon {
namespace {

// "%q" in a pattern: "<3>" and so on.
class Priority final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/,
              spdlog::memory_buf_t& out) override {
    const char digit = [&] {
      switch (message.level) {
        case spdlog::level::critical:
          return '2';
        case spdlog::level::err:
          return '3';
        case spdlog::level::warn:
          return '4';
        case spdlog::level::info:
          return '6';
        default:
          return '7';
      }
    }();
    out.push_back('<');
    out.push_back(digit);
    out.push_back('>');
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<Priority>(); }
};

void log_lines(spdlog::level::level_enum level, const Error& error) {
  std::istringstream lines(error.to_string());
  for (std::string line; std::getline(lines, line);)
    spdlog::log(level, "{}", line);
}

}  // namespace

void set_up_log(bool debug) {
  auto logger = std::make_shared<spdlog::logger>("weft", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<Priority>('q').set_pattern(::isatty(STDERR_FILENO) != 0 ? "%T.%e %l: %v" : "%q%v");
  logger->set_formatter(std::move(formatter));
  logger->set_level(debug ? spdlog::level::debug : spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

void log_error(const Error& error) { log_lines(spdlog::level::err, error); }

void log_warning(const Error& error) { log_lines(spdlog::level::warn, error); }

}  // namespace weft::daemon
