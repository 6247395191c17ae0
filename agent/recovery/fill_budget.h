// How many bytes may be filled with zeros (P4). A budget is earned before it is spent: at every moment
//
//     filled bytes of the (peer, class, level)  <=  budget * true bytes delivered of it so far
//     filled bytes of a message                 <=  max_fill_per_message * bytes of the message
//
// Filled bytes earn nothing, and neither does a packet delivered twice. Since the first bound holds for each
// level on its own, it holds for the class.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft::recovery {

enum class FillDecision : std::uint8_t { kGranted, kOverBudget, kOverMessageCap };

// The account of one message; lives as long as the message may still be filled.
struct MessageFill {
  std::uint64_t message_bytes = 0;
  std::uint64_t filled_bytes = 0;
};

class FillBudget {
 public:
  // Fractions of bytes, as LevelPolicy::fill_budget and LevelPolicy::max_fill_per_message.
  FillBudget(double budget, double max_fill_per_message)
      : budget_(budget), max_fill_per_message_(max_fill_per_message) {}

  // Payload bytes delivered as they were sent, for the first time.
  void delivered(std::uint64_t bytes) { delivered_bytes_ += bytes; }

  // Asks to fill `bytes` payload bytes of a message. Granted: both accounts are charged.
  [[nodiscard]] FillDecision fill(std::uint64_t bytes, MessageFill& message) {
    if (filled_bytes_ + bytes > allowance(budget_, delivered_bytes_)) return FillDecision::kOverBudget;
    if (message.filled_bytes + bytes > allowance(max_fill_per_message_, message.message_bytes))
      return FillDecision::kOverMessageCap;
    filled_bytes_ += bytes;
    message.filled_bytes += bytes;
    return FillDecision::kGranted;
  }

  // A granted fill never took effect, or was undone by a rewind. What an earlier account granted is not in this one.
  void cancel(std::uint64_t bytes, MessageFill& message) {
    filled_bytes_ -= std::min(bytes, filled_bytes_);
    message.filled_bytes -= std::min(bytes, message.filled_bytes);
  }

  std::uint64_t filled_bytes() const { return filled_bytes_; }

 private:
  static std::uint64_t allowance(double share, std::uint64_t bytes) {
    return static_cast<std::uint64_t>(share * static_cast<double>(bytes));
  }

  double budget_;
  double max_fill_per_message_;
  std::uint64_t delivered_bytes_ = 0;
  std::uint64_t filled_bytes_ = 0;
};

}  // namespace weft::recovery
