#include "tests/property/hits.h"

#include <cstdio>

namespace weft::test {

void Hits::add(const Hits& other) {
  for (const auto& [name, count] : other.faults)
    faults[name] += count;
  events.add(other.events);
  packets += other.packets;
  fills += other.fills;
  late_fills += other.late_fills;
  bytes_declared_in_vain += other.bytes_declared_in_vain;
}

void Hits::print() const {
  std::printf("%llu packets, %llu fills, %llu of them late, %llu bytes declared zero that are not\nfaults:\n",
              static_cast<unsigned long long>(packets), static_cast<unsigned long long>(fills),
              static_cast<unsigned long long>(late_fills),
              static_cast<unsigned long long>(bytes_declared_in_vain));
  for (const auto& [name, count] : faults)
    std::printf("  %-28s %llu\n", name.c_str(), static_cast<unsigned long long>(count));
  std::printf("events:\n");
  for (std::size_t i = 0; i < recovery::kEventCount; ++i) {
    std::printf("  %-28s %llu\n", recovery::kEventNames[i].data(),
                static_cast<unsigned long long>(events.total(static_cast<recovery::Event>(i))));
  }
}

std::vector<std::string> Hits::never(std::initializer_list<std::string_view> wanted_faults,
                                     std::initializer_list<recovery::Event> wanted_events) const {
  std::vector<std::string> names;
  for (const std::string_view name : wanted_faults) {
    const auto found = faults.find(std::string(name));
    if (found == faults.end() || found->second == 0) names.emplace_back(name);
  }
  for (const recovery::Event event : wanted_events) {
    if (events.total(event) == 0) names.emplace_back(recovery::kEventNames[static_cast<std::size_t>(event)]);
  }
  return names;
}

}  // namespace weft::test
