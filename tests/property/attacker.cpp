#include "tests/property/attacker.h"

#include "agent/roce/udp_datagram.h"
#include "agent/wire/format.h"

namespace weft::test {
namespace {

constexpr std::size_t kMostRecorded = 4096;
constexpr std::size_t kPacketsPerAttack = 24;

}  // namespace

void Attacker::record(sim::Side from, ByteView frame) {
  Recorded recorded{from, Bytes(frame.begin(), frame.end())};
  const auto datagram = roce::UdpDatagram::parse(frame);
  const auto header = wire::parse_header(datagram->payload);
  // Hellos are rare and worth most to an attacker.
  const bool hello = header && header->type == wire::PacketType::kHello;
  if (recorded_.size() < kMostRecorded || hello)
    recorded_.push_back(std::move(recorded));
  else
    recorded_[rng_.below(recorded_.size())] = std::move(recorded);
}

// Anything but magic and version is changed; every second time the counter becomes one nobody has used, so that the
// replay window is not what refuses it.
Bytes Attacker::forged(Bytes frame) {
  const auto datagram = roce::UdpDatagram::parse(frame);
  const auto payload_offset = static_cast<std::size_t>(datagram->payload.data() - frame.data());
  constexpr std::size_t kAfterVersion = 5;
  constexpr std::size_t kCounterOffset = 16;
  const std::size_t at =
      payload_offset + kAfterVersion + rng_.below(datagram->payload.size() - kAfterVersion);
  frame[at] ^= static_cast<std::uint8_t>(1U << rng_.below(8));
  if (rng_.chance(0.5)) frame[payload_offset + kCounterOffset + 3] ^= 1;
  return frame;
}

void Attacker::attack(sim::TwoSites& sites, std::map<std::string, std::uint64_t>& hits) {
  if (recorded_.empty()) return;
  for (std::size_t i = 0; i < kPacketsPerAttack; ++i) {
    const Recorded& chosen = recorded_[rng_.below(recorded_.size())];
    switch (rng_.below(4)) {
      case 0:
        ++hits["reflected"];
        sites.inject_into_wan(sim::other(chosen.from), chosen.frame);
        break;
      case 1:
        ++hits["forged"];
        sites.inject_into_wan(chosen.from, forged(chosen.frame));
        break;
      default:
        ++hits["replayed"];
        sites.inject_into_wan(chosen.from, chosen.frame);
    }
  }
}

}  // namespace weft::test
