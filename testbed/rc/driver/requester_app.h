// Plays a plan from the requesting side: the warm-up, then each slot posts its next message when the last one
// completes.
#pragma once

#include <optional>
#include <vector>

#include "testbed/rc/driver/event_loop.h"
#include "testbed/rc/driver/options.h"

namespace weft::rc {

class RequesterApp : public Application {
 public:
  // All outlive the application.
  RequesterApp(const Options& options, const Plan& plan, const PayloadPattern& pattern, Host& host);

  void start(Nanoseconds now) override;
  void serve(const ReadRequested& /*read*/) override {}  // nobody reads a requester
  void handle(Nanoseconds now, const Events& events) override;
  bool finished() const override { return ended_ == plan_.messages.size(); }

  Nanoseconds started_at() const { return started_at_; }  // of what is measured
  // By message id; nothing for a message that had not ended.
  const std::vector<std::optional<Completion>>& completions() const { return completions_; }
  // By message id, for READs that completed.
  const std::vector<std::optional<PayloadCheck>>& checks() const { return checks_; }

 private:
  void start_measuring(Nanoseconds now);
  void post_next(Nanoseconds now, std::uint32_t slot);

  const Options& options_;
  const Plan& plan_;
  const PayloadPattern& pattern_;
  Host& host_;
  std::vector<std::size_t> next_of_slot_;  // index into PlannedSlot::messages
  std::vector<Bytes> sinks_;               // by slot, for READs
  std::vector<std::optional<Completion>> completions_;
  std::vector<std::optional<PayloadCheck>> checks_;
  std::size_t ended_ = 0;
  Nanoseconds started_at_{0};
};

}  // namespace weft::rc
