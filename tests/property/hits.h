// What happened in a run, by name: how often each fault struck, and each branch of the engines was taken. A fault that
// never struck, or a branch never taken, proves nothing.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/recovery/events.h"

namespace weft::test {

struct Hits {
  std::map<std::string, std::uint64_t> faults;
  recovery::Counters events;
  std::uint64_t packets = 0;  // over the WAN
  std::uint64_t fills = 0;
  std::uint64_t late_fills = 0;  // of packets that came after all
  std::uint64_t bytes_declared_in_vain = 0;

  void add(const Hits& other);
  void print() const;
  // Names of these that were never hit.
  std::vector<std::string> never(std::initializer_list<std::string_view> wanted_faults,
                                 std::initializer_list<recovery::Event> wanted_events) const;
};

}  // namespace weft::test
