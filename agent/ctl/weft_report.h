// What `weftctl decode` says about a Weft packet, and whether it is authentic.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "agent/base/bytes.h"
#include "agent/wire/format.h"
#include "agent/wire/packet_key.h"

namespace weft::ctl {

// Checks tags with the keys the operator has. Data keys need the whole boot ids of both sides, which only hellos
// carry, so it learns from the authentic hellos of the packets shown to it, in their order.
class WeftAuthenticator {
 public:
  void add_key(const wire::Psk& psk) { psks_.push_back(psk); }

  enum class Verdict : std::uint8_t {
    kOk,
    kBad,        // no key at hand verifies it
    kUnchecked,  // no key at hand, or the boot ids are not known from a hello before
  };
  Verdict check(const wire::Header& header, ByteView udp_payload);

 private:
  // A boot id seen in an authentic hello, and the key that proved it.
  struct Known {
    wire::BootId boot_id;
    std::size_t psk;
  };
  Verdict check_hello(const wire::Header& header, ByteView udp_payload);
  Verdict check_data(const wire::Header& header, ByteView udp_payload) const;

  std::vector<wire::Psk> psks_;
  std::vector<Known> known_;
};

struct WeftReport {
  std::string malformed;  // why, when header or body is refused; then `fields` is what is known all the same
  nlohmann::ordered_json fields;  // {"type", "lane", "counter", ... by type, "auth"}
};

// Of a UDP payload with the magic. `complete` is false when the capture lacks its end.
WeftReport report_weft(ByteView udp_payload, bool complete, WeftAuthenticator& authenticator);

// "repair class 1 level 0 block 0 k 32 r 4 index 1 auth ok"; for people.
std::string text_of(const WeftReport& report);

}  // namespace weft::ctl
