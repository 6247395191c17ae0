// Which counters of one sender's lane have been accepted: each at most once, in any order within a window.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::wire {

// A sliding bitmap behind the highest counter accepted (RFC 6479's ring of words: advancing clears words, it
// does not shift them). Counters start at 1. What is older than the window cannot be told from a replay and is
// refused.
class ReplayWindow {
 public:
  // Packets that may overtake one another: 20 ms of repairs at 100,000 packets/s.
  static constexpr std::uint64_t kCounters = 2048;

  // Whether `counter` may be accepted. Ask before the tag is checked (it is cheaper), mark after.
  bool is_new(std::uint64_t counter) const {
    if (counter == 0) return false;
    if (counter > highest_) return true;
    if (highest_ - counter >= kCounters) return false;
    return (word(counter) & bit(counter)) == 0;
  }

  // Only for a counter that is_new() and authentic.
  void mark(std::uint64_t counter) {
    if (counter > highest_) {
      const std::uint64_t last_word = highest_ / kWordBits;
      const std::uint64_t steps = counter / kWordBits - last_word;
      for (std::uint64_t i = 1; i <= steps && i <= kWords; ++i)
        words_[(last_word + i) % kWords] = 0;
      highest_ = counter;
    }
    words_[counter / kWordBits % kWords] |= bit(counter);
  }

 private:
  static constexpr std::uint64_t kWordBits = 64;
  // One word more than the window, so that the word being entered never holds counters still inside it.
  static constexpr std::uint64_t kWords = kCounters / kWordBits + 1;

  static std::uint64_t bit(std::uint64_t counter) { return std::uint64_t{1} << (counter % kWordBits); }
  std::uint64_t word(std::uint64_t counter) const { return words_[counter / kWordBits % kWords]; }

  std::uint64_t highest_ = 0;
  std::array<std::uint64_t, kWords> words_{};
};

}  // namespace weft::wire
