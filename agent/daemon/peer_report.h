// What the operator should know about the terms with a peer: lines for the log, entries for `weftctl status`.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "agent/recovery/engine.h"
#include "agent/recovery/peer_terms.h"

namespace weft::daemon {

// What does not work with this peer, or not as configured; each with what to do about it.
std::vector<Error> shortcomings(const recovery::PeerTerms& terms);

// Logs what happens to sessions. What does not work is said when it begins, not each time the peer comes back.
class PeerLog {
 public:
  void tell(std::span<const recovery::PeerChange> changes);

 private:
  std::map<std::string, recovery::PeerTerms> told_;
};

}  // namespace weft::daemon
