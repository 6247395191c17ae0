// P4 computed a second time, from what is delivered to the hosts: true bytes that came in their turn, bytes filled, and
// fills the receiver threw away again. By side, class and level; by message.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "tests/property/source_book.h"

namespace weft::test {

class FillAccount {
 public:
  FillAccount(const recovery::PolicyTable& policy, Complaints& complaints)
      : policy_(policy), complaints_(complaints) {}

  void delivered(recovery::Tag tag, std::uint64_t payload_bytes) {
    sums_[{tag.class_id, tag.level}].true_bytes += payload_bytes;
  }
  void filled(recovery::Tag tag, const roce::FlowKey& flow, roce::Psn psn, const SentPacket& packet);
  // The receiver asks for everything from `psn` on again.
  void thrown_away(const roce::FlowKey& flow, roce::Psn psn);
  // Nothing of an old life of the queue pair can be thrown away any more.
  void forget(const roce::FlowKey& flow) { pending_.erase(flow); }
  std::uint64_t filled_packets() const { return filled_packets_; }

 private:
  struct Sum {
    std::uint64_t true_bytes = 0;
    std::uint64_t filled_bytes = 0;
  };
  struct Fill {
    recovery::Tag tag;
    roce::Psn psn;
    roce::Psn message_first_psn;
    std::uint64_t bytes = 0;
  };
  struct OfFlow {
    std::vector<Fill> fills;
    std::unordered_map<std::uint32_t, std::uint64_t> message_bytes;  // filled, by first PSN
  };

  const recovery::PolicyTable& policy_;
  Complaints& complaints_;
  std::map<std::pair<recovery::ClassId, std::uint8_t>, Sum> sums_;
  std::unordered_map<roce::FlowKey, OfFlow> pending_;
  std::uint64_t filled_packets_ = 0;
};

}  // namespace weft::test
