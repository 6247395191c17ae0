// Random valid bodies of Weft packets, up to the format's limits.
#pragma once

#include <vector>

#include "agent/base/rng.h"
#include "agent/wire/messages.h"
#include "agent/wire/repair_list.h"

namespace weft::test {

wire::BootId random_boot_id(Rng& rng);
wire::Hello random_hello(Rng& rng);
wire::Feedback random_feedback(Rng& rng);
wire::Announcement random_announcement(Rng& rng);
wire::Manifest random_manifest(Rng& rng);

// A repair whose list has `sources` (of a few flows, mostly going forward, sometimes resent) and whose symbol
// refers to `symbol`.
wire::Repair random_repair(Rng& rng, Bytes& symbol);

// The list of repair.sources, as the encoder would have built it; they must be nameable.
wire::RepairListBuilder list_of(const wire::Repair& repair);

// Any body as bytes.
template <class Body>
Bytes encoded(const Body& body) {
  Bytes bytes(wire::body_bytes(body));
  wire::encode(body, bytes);
  return bytes;
}
// With the list if there are sources, with the symbol if there is one.
Bytes encoded(const wire::Repair& repair);

}  // namespace weft::test
