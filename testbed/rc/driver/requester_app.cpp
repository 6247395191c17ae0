#include "testbed/rc/driver/requester_app.h"

#include <algorithm>

namespace weft::rc {

RequesterApp::RequesterApp(const Options& options, const Plan& plan, const PayloadPattern& pattern,
                           Host& host)
    : options_(options),
      plan_(plan),
      pattern_(pattern),
      host_(host),
      next_of_slot_(plan.slots.size(), 0),
      completions_(plan.messages.size()),
      checks_(plan.messages.size()) {
  if (options.op != WorkOp::kRead) return;
  for (const PlannedSlot& slot : plan.slots)
    sinks_.emplace_back(slot.buffer_bytes, kPoison);
}

void RequesterApp::start(Nanoseconds now) {
  if (plan_.warmup_messages == 0) return start_measuring(now);
  post_next(now, 0);
}

void RequesterApp::start_measuring(Nanoseconds now) {
  started_at_ = now;
  for (std::uint32_t slot = 0; slot < plan_.slots.size(); ++slot)
    post_next(now, slot);
}

void RequesterApp::post_next(Nanoseconds now, std::uint32_t slot) {
  const PlannedSlot& planned = plan_.slots[slot];
  if (next_of_slot_[slot] == planned.messages.size()) return;
  const PlannedMessage& message = plan_.messages[planned.messages[next_of_slot_[slot]++]];
  const PlannedQp& qp = plan_.qps[message.qp];
  WorkRequest work{.id = message.id,
                   .op = options_.op,
                   .bytes = message.bytes,
                   .payload = pattern_.message(qp.responder_qpn, message.number),
                   .sink = {},
                   .va = planned.va,
                   .rkey = planned.rkey,
                   .imm = static_cast<std::uint32_t>(message.id)};
  if (!sinks_.empty()) work.sink = MutableByteView(sinks_[slot]).first(message.bytes);
  host_.post(now, qp.requester_qpn, work);
}

void RequesterApp::handle(Nanoseconds now, const Events& events) {
  for (const Completion& completion : events.completions) {
    const PlannedMessage& message = plan_.messages[completion.id];
    completions_[message.id] = completion;
    ++ended_;
    if (!sinks_.empty() && completion.status == WorkStatus::kSuccess) {
      const PlannedQp& qp = plan_.qps[message.qp];
      const MutableByteView sink = MutableByteView(sinks_[message.slot]).first(message.bytes);
      checks_[message.id] = check_payload(pattern_.message(qp.responder_qpn, message.number), sink);
      std::fill(sink.begin(), sink.end(), kPoison);
    }
    if (message.id + 1 == plan_.warmup_messages) {
      start_measuring(now);
    } else {
      post_next(now, message.slot);
    }
  }
}

}  // namespace weft::rc
