#include "tests/property/fill_account.h"

#include <fmt/format.h>

namespace weft::test {

void FillAccount::filled(recovery::Tag tag, const roce::FlowKey& flow, roce::Psn psn,
                         const SentPacket& packet) {
  ++filled_packets_;
  const recovery::LevelPolicy& row = policy_.level(tag);
  Sum& sum = sums_[{tag.class_id, tag.level}];
  sum.filled_bytes += packet.payload_bytes;
  if (static_cast<double>(sum.filled_bytes) > row.fill_budget * static_cast<double>(sum.true_bytes)) {
    complaints_.add("P4", fmt::format("{} level {}: {} bytes filled of {} delivered, budget {}",
                                      policy_.classes[tag.class_id].name, tag.level, sum.filled_bytes,
                                      sum.true_bytes, row.fill_budget));
  }
  OfFlow& of_flow = pending_[flow];
  of_flow.fills.push_back(
      {.tag = tag, .psn = psn, .message_first_psn = packet.message_first_psn, .bytes = packet.payload_bytes});
  std::uint64_t& message = of_flow.message_bytes[packet.message_first_psn.value];
  message += packet.payload_bytes;
  if (static_cast<double>(message) > row.max_fill_per_message * static_cast<double>(packet.message_bytes)) {
    complaints_.add(
        "P4", fmt::format("message at PSN {}: {} of {} bytes filled, cap {}", packet.message_first_psn.value,
                          message, packet.message_bytes, row.max_fill_per_message));
  }
}

void FillAccount::thrown_away(const roce::FlowKey& flow, roce::Psn psn) {
  const auto of_flow = pending_.find(flow);
  if (of_flow == pending_.end()) return;
  std::erase_if(of_flow->second.fills, [&](const Fill& fill) {
    if (roce::psn_before(fill.psn, psn)) return false;
    sums_[{fill.tag.class_id, fill.tag.level}].filled_bytes -= fill.bytes;
    of_flow->second.message_bytes[fill.message_first_psn.value] -= fill.bytes;
    return true;
  });
}

}  // namespace weft::test
