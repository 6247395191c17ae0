// For programs that stand for hardware: a WAN, an adapter.
#pragma once

namespace weft::netem {

// The calling thread's sleeps end when they should, and it is woken in time on a busy machine: no timer slack (50 us by
// default), and the lowest real-time priority, which is enough since it sleeps most of the time. False when the machine
// did not grant the priority.
bool wake_in_time();

}  // namespace weft::netem
