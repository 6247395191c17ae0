// What weftd tells systemd (sd_notify(3)); nothing happens when it was not started by systemd.
#pragma once

#include <chrono>
#include <string>

#include "agent/base/units.h"

namespace weft::daemon {

class Notifier {
 public:
  Notifier();

  void ready(const std::string& status);
  void reloading();
  void stopping();
  void status(const std::string& status);

  // To be called often while the data-path threads are alive; tells systemd in time and no more often.
  void alive(Nanoseconds now);

 private:
  Nanoseconds watchdog_interval_{0};  // 0: no watchdog wanted
  Nanoseconds last_alive_{0};
};

}  // namespace weft::daemon
