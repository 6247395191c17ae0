#include "agent/recovery/peer_terms.h"

#include <algorithm>

namespace weft::recovery {

PeerTerms terms_with(const wire::Hello& peer, bool same_classes, std::uint16_t own_wan_mtu_bytes,
                     CodeKind code) {
  const std::uint32_t needed = code == CodeKind::kXor ? wire::kCapabilityXor : wire::kCapabilityReedSolomon;
  return {.own_wan_mtu_bytes = own_wan_mtu_bytes,
          .peer_wan_mtu_bytes = peer.mtu_bytes,
          // No configuration says less than the least; a peer that does is not believed.
          .wan_mtu_bytes = std::min(own_wan_mtu_bytes, std::max(peer.mtu_bytes, wire::kLeastWanMtuBytes)),
          .same_classes = same_classes,
          .peer_decodes = (peer.capabilities & needed) != 0};
}

}  // namespace weft::recovery
