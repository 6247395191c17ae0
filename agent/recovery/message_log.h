// The RDMA WRITE messages of one flow that are being delivered: what it takes to write any of their headers again,
// and how much of each was filled. From manifests' descriptors, and from FIRST packets that arrived. Bounded; the
// oldest message is forgotten first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>

#include "agent/recovery/fill_budget.h"
#include "agent/roce/headers.h"
#include "agent/roce/opcode.h"
#include "agent/roce/psn.h"
#include "agent/wire/messages.h"

namespace weft::recovery {

struct LoggedMessage {
  wire::MessageDescriptor descriptor;
  MessageFill fill;

  std::uint32_t packets() const {
    return roce::packets_for(descriptor.reth.length_bytes, descriptor.pmtu_bytes);
  }
  bool contains(roce::Psn psn) const { return roce::psn_in_run(psn, descriptor.first_psn, packets()); }
  std::uint32_t packet_index(roce::Psn psn) const {
    return static_cast<std::uint32_t>(roce::psn_distance(descriptor.first_psn, psn));
  }
  std::uint64_t offset_of(roce::Psn psn) const {
    return std::uint64_t{packet_index(psn)} * descriptor.pmtu_bytes;
  }
  std::uint32_t payload_bytes(roce::Psn psn) const {
    const std::uint64_t left = descriptor.reth.length_bytes - offset_of(psn);
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(left, descriptor.pmtu_bytes));
  }
  bool is_last(roce::Psn psn) const { return packet_index(psn) + 1 == packets(); }
  // SE and immediate of the last packet are known only once the encoder has seen it.
  bool headers_known(roce::Psn psn) const { return !is_last(psn) || descriptor.end.has_value(); }
};

class MessageLog {
 public:
  void add(const wire::MessageDescriptor& descriptor) {
    if (!roce::is_pmtu(descriptor.pmtu_bytes) || descriptor.reth.length_bytes == 0 ||
        descriptor.reth.length_bytes > kMostMessageBytes) {
      return;
    }
    if (LoggedMessage* known = at_first_psn(descriptor.first_psn);
        known != nullptr && known->descriptor.reth == descriptor.reth) {
      if (descriptor.end) known->descriptor.end = descriptor.end;
      return;
    }
    // A message that covers the same PSNs otherwise is of another life of the queue pair.
    const LoggedMessage fresh{.descriptor = descriptor,
                              .fill = {.message_bytes = descriptor.reth.length_bytes, .filled_bytes = 0}};
    std::erase_if(messages_, [&](const LoggedMessage& old) {
      return old.contains(descriptor.first_psn) || fresh.contains(old.descriptor.first_psn);
    });
    if (messages_.size() == kMaxMessages) messages_.pop_front();
    messages_.push_back(fresh);
  }

  LoggedMessage* find(roce::Psn psn) {
    for (auto it = messages_.rbegin(); it != messages_.rend(); ++it) {
      if (it->contains(psn)) return &*it;
    }
    return nullptr;
  }

  void clear() { messages_.clear(); }

 private:
  // IBTA 9.7.7: longer ones do not exist, and their packets could not be told from each other by PSN.
  static constexpr std::uint32_t kMostMessageBytes = 1U << 31;
  // A flow has one message in delivery, and a few behind it while a gap is open.
  static constexpr std::size_t kMaxMessages = 64;

  LoggedMessage* at_first_psn(roce::Psn psn) {
    for (auto it = messages_.rbegin(); it != messages_.rend(); ++it) {
      if (it->descriptor.first_psn == psn) return &*it;
    }
    return nullptr;
  }

  std::deque<LoggedMessage> messages_;
};

}  // namespace weft::recovery
