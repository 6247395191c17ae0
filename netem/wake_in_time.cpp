#include "netem/wake_in_time.h"

#include <sched.h>
#include <sys/prctl.h>

namespace weft::netem {

bool wake_in_time() {
  constexpr unsigned long kLeastSlackNs = 1;  // 0 would bring the default back
  prctl(PR_SET_TIMERSLACK, kLeastSlackNs);
  const sched_param lowest{.sched_priority = sched_get_priority_min(SCHED_FIFO)};
  return sched_setscheduler(0, SCHED_FIFO, &lowest) == 0;
}

}  // namespace weft::netem
