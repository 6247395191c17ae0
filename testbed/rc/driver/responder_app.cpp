#include "testbed/rc/driver/responder_app.h"

#include <algorithm>

namespace weft::rc {

ResponderApp::ResponderApp(const Plan& plan, const PayloadPattern& pattern, Host& host)
    : plan_(plan), pattern_(pattern), host_(host), arrived_(plan.messages.size()) {
  for (const PlannedSlot& slot : plan.slots) {
    buffers_.emplace_back(slot.buffer_bytes, kPoison);
    host.memory().add_region(slot.rkey, slot.va, buffers_.back());
  }
  // A queue pair has one message in flight. Its next one may arrive before handle() has posted again.
  constexpr int kReceives = 2;
  for (const PlannedQp& qp : plan.qps) {
    by_qpn_[qp.responder_qpn] = &qp;
    for (int i = 0; i < kReceives; ++i)
      post_receive(qp);
  }
}

void ResponderApp::post_receive(const PlannedQp& qp) {
  // An immediate takes a receive, but not its buffer.
  host_.post_receive(qp.responder_qpn, buffers_[qp.slot]);
}

const PlannedMessage* ResponderApp::find(std::uint32_t qpn, std::uint64_t number) const {
  const auto qp = by_qpn_.find(qpn);
  if (qp == by_qpn_.end() || number >= qp->second->messages.size()) return nullptr;
  return &plan_.messages[qp->second->messages[number]];
}

void ResponderApp::serve(const ReadRequested& read) {
  write_payload(pattern_.message(read.qpn, read.message), read.bytes);
}

void ResponderApp::handle(Nanoseconds /*now*/, const Events& events) {
  for (const Arrival& arrival : events.arrivals) {
    if (arrival.op != WorkOp::kWrite) post_receive(*by_qpn_.at(arrival.qpn));
    const PlannedMessage* message = find(arrival.qpn, arrival.message);
    if (message == nullptr || message->bytes != arrival.bytes.size()) {
      ++unexpected_messages_;
      continue;
    }
    arrived_[message->id] = ArrivedMessage{
        arrival.at, check_payload(pattern_.message(arrival.qpn, arrival.message), arrival.bytes)};
    std::fill(arrival.bytes.begin(), arrival.bytes.end(), kPoison);
  }
}

}  // namespace weft::rc
