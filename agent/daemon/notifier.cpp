#include "agent/daemon/notifier.h"

#include <systemd/sd-daemon.h>

#include "agent/base/clock.h"

namespace weft::daemon {

Notifier::Notifier() {
  std::uint64_t timeout_us = 0;
  if (sd_watchdog_enabled(0, &timeout_us) > 0) watchdog_interval_ = std::chrono::microseconds(timeout_us) / 3;
}

void Notifier::ready(const std::string& status) { sd_notifyf(0, "READY=1\nSTATUS=%s", status.c_str()); }

void Notifier::reloading() {
  // Type=notify-reload wants the time of the reload (systemd 253).
  const auto now = std::chrono::duration_cast<std::chrono::microseconds>(monotonic_now());
  sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld", static_cast<long long>(now.count()));
}

void Notifier::stopping() { sd_notify(0, "STOPPING=1"); }

void Notifier::status(const std::string& status) { sd_notifyf(0, "STATUS=%s", status.c_str()); }

void Notifier::alive(Nanoseconds now) {
  if (watchdog_interval_.count() == 0 || now - last_alive_ < watchdog_interval_) return;
  last_alive_ = now;
  sd_notify(0, "WATCHDOG=1");
}

}  // namespace weft::daemon
