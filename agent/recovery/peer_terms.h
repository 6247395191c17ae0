// What this side and a peer can do for each other, from the peer's hello. A difference is no reason to leave traffic
// unprotected: what works without it goes on, and the rest is left out, visibly.
#pragma once

#include <cstdint>

#include "agent/recovery/policy.h"
#include "agent/wire/format.h"
#include "agent/wire/messages.h"

namespace weft::recovery {

struct PeerTerms {
  std::uint16_t own_wan_mtu_bytes = 0;   // as configured
  std::uint16_t peer_wan_mtu_bytes = 0;  // as the peer says
  std::uint16_t wan_mtu_bytes = 0;       // of Weft packets in both directions: the smaller of the two
  // Class ids mean the same. When not, all that comes from the peer is held to `exact`: nothing of it is filled.
  bool same_classes = true;
  // The peer can decode what the policy's code makes. When not, what goes to it is not coded.
  bool peer_decodes = true;
  friend bool operator==(const PeerTerms&, const PeerTerms&) = default;
};

PeerTerms terms_with(const wire::Hello& peer, bool same_classes, std::uint16_t own_wan_mtu_bytes,
                     CodeKind code);

}  // namespace weft::recovery
