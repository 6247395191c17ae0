// Sends the repairs of one stream's closed groups, paced, and repeats those of a tail until feedback covers
// it. Owns the groups it was given until they have nothing left to send, then gives them back to the pool.
//
// Bounded: kMaxQueuedGroups wait at a time; a further one makes them go at once, as far as the budget reaches.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "agent/recovery/block_group.h"
#include "agent/recovery/events.h"
#include "agent/recovery/path_estimate.h"
#include "agent/recovery/tail_schedule.h"
#include "agent/recovery/weft_sender.h"

namespace weft::recovery {

class RepairPacer {
 public:
  // All outlive the pacer.
  struct Links {
    WeftSender& sender;
    Counters& counters;
    BlockGroupPool& pool;
    const PathEstimate& estimate;
  };
  explicit RepairPacer(const Links& links);
  ~RepairPacer();
  RepairPacer(const RepairPacer&) = delete;
  RepairPacer& operator=(const RepairPacer&) = delete;

  // A closed group. Its repairs are spread over part of the time the group itself took, which is about what
  // the next one will take.
  void submit(std::unique_ptr<BlockGroup> group, Time now);
  // Nothing follows the newest group: what is queued goes at the pace of the packets before it, `spacing`, and
  // the newest group is a tail.
  void end_of_message(Time spacing, Time now);

  void on_covered(std::uint32_t ordinal);
  void tick(Time now);
  std::optional<Time> next_deadline() const;
  // Gives up everything.
  void clear();
  // Gives up the group that is kept although it has been sent, so that it can be used again; false when there
  // is none.
  bool give_up_tail();
  // About how much what is queued will take on the WAN.
  std::size_t unsent_bytes() const;

 private:
  struct Paced {
    std::unique_ptr<BlockGroup> group;
    std::size_t next_part = 0;
    Time next_at{};
    Time interval{};
    std::optional<Time> tail_spacing;  // of the packets before it, when it is a tail
  };
  // A tail of few rows is told again beyond a burst's reach, one of many only if feedback does not cover it.
  Time first_repeat_after(const BlockGroup& group, Time spacing) const;
  void hurry(Time longest_interval, Time now);
  void finish_front(Time now);
  void repeat_tail(Time now);
  void send_part(const BlockGroup& group, const RepairPart& part, Event counted_as, Time now);
  void drop(std::unique_ptr<BlockGroup>& group);

  Links links_;
  std::vector<Paced> queue_;  // oldest first
  // The newest group that has been sent: a tail when the schedule is active, or may yet turn out to be one.
  std::unique_ptr<BlockGroup> tail_;
  TailSchedule tail_schedule_;
};

}  // namespace weft::recovery
