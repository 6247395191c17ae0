// The responding side of a plan: provides the slots' buffers, checks every byte of a message when it is
// complete, and poisons the buffer for the next one.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "testbed/rc/driver/event_loop.h"
#include "testbed/rc/driver/plan.h"

namespace weft::rc {

struct ArrivedMessage {
  Nanoseconds at{0};
  PayloadCheck check;
};

class ResponderApp : public Application {
 public:
  // All outlive the application. Registers the buffers with the host.
  ResponderApp(const Plan& plan, const PayloadPattern& pattern, Host& host);

  void start(Nanoseconds now) override { started_at_ = now; }
  void serve(const ReadRequested& read) override;
  void handle(Nanoseconds now, const Events& events) override;
  bool finished() const override { return false; }  // a lost last ACK has to be answered again

  Nanoseconds started_at() const { return started_at_; }
  // By message id.
  const std::vector<std::optional<ArrivedMessage>>& arrived() const { return arrived_; }
  // Messages that are not in the plan, or not of their planned length.
  std::uint64_t unexpected_messages() const { return unexpected_messages_; }

 private:
  // Nothing when the plan has no such message.
  const PlannedMessage* find(std::uint32_t qpn, std::uint64_t number) const;
  void post_receive(const PlannedQp& qp);

  const Plan& plan_;
  const PayloadPattern& pattern_;
  Host& host_;
  std::vector<Bytes> buffers_;  // by slot
  std::unordered_map<std::uint32_t, const PlannedQp*> by_qpn_;
  std::vector<std::optional<ArrivedMessage>> arrived_;
  std::uint64_t unexpected_messages_ = 0;
  Nanoseconds started_at_{0};
};

}  // namespace weft::rc
