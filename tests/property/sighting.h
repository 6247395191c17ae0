// One frame at one place of two sites, parsed once for everybody who watches.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/roce/udp_datagram.h"
#include "agent/roce/view.h"
#include "agent/wire/format.h"
#include "testbed/sim/two_sites.h"
#include "tests/property/sites_config.h"

namespace weft::test {

struct Sighting {
  sim::Place place = sim::Place::kFromHost;
  sim::Side side = sim::Side::kA;
  recovery::Time at{};
  ByteView frame;
  std::optional<roce::PacketView> roce;     // a RoCE packet whose ICRC is right
  std::optional<roce::PacketView> damaged;  // one whose ICRC is wrong
  std::optional<wire::Header> weft;
  std::size_t ip_bytes = 0;
  bool stranger = false;  // between addresses of no site

  static Sighting of(sim::Place place, sim::Side side, recovery::Time at, ByteView frame) {
    Sighting seen;
    seen.place = place;
    seen.side = side;
    seen.at = at;
    seen.frame = frame;
    if (const auto view = roce::PacketView::parse(frame)) {
      seen.ip_bytes = view->ip_packet_bytes();
      seen.stranger = !is_of_a_site(view->src_address());
      (view->icrc_ok() ? seen.roce : seen.damaged) = *view;
    } else if (const auto datagram = roce::UdpDatagram::parse(frame)) {
      seen.ip_bytes = datagram->ip_bytes;
      if (datagram->destination_port == wire::kDefaultUdpPort) {
        if (const auto header = wire::parse_header(datagram->payload)) seen.weft = *header;
      }
    }
    return seen;
  }
};

// What the classifier says of a packet.
inline std::optional<recovery::Tag> tag_of(const sim::SitesConfig& config, const roce::PacketView& view) {
  return view.op().is_response() ? config.response_tag : config.tag_by_dscp[view.dscp()];
}

// What was promised and not kept. The first few are told, all are counted.
class Complaints {
 public:
  void add(std::string_view promise, std::string text) {
    ++count_;
    if (told_.size() < kMostTold) told_.push_back(std::string(promise) + ": " + std::move(text));
  }
  std::uint64_t count() const { return count_; }
  std::string text() const {
    std::string all = std::to_string(count_) + " broken promises";
    for (const std::string& line : told_)
      all += "\n  " + line;
    return all;
  }

 private:
  static constexpr std::size_t kMostTold = 12;
  std::uint64_t count_ = 0;
  std::vector<std::string> told_;
};

}  // namespace weft::test
