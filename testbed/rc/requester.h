// The requester half of a queue pair: turns posted work into packets, and acknowledgements into completions.
// Go-back-N as IBTA volume 1, section 9.7 has it and rdma_rxe does it. Pure: time and packets come in, packets
// and completions go out.
//
//   completed | sent, unacknowledged     | resent from here after a rewind | never sent
//   ----------+--------------------------+---------------------------------+-----------> PSN
//            una_                       next_                            high_
//
// Invariants: una_ <= next_ <= high_ and high_ - una_ <= the window, except that one READ longer than the
// window may be outstanding alone. works_ holds every request that is not complete, in order; send_index_ is
// the one next_ falls into, or works_.size().
//
// Three things rewind next_ to una_: a NAK (PSN sequence error), an RNR NAK (after its wait), and the local ACK
// timer. A NAK acknowledges everything before it. A NAK for the gap that a NAK already rewound to is ignored
// until there is progress, as in rdma_rxe: a copy of it would restart the resend. Every rewind without progress
// costs one of retry_count; progress restores them.
//
// Beyond rdma_rxe, where it leaves a loss to the timer although it is known: a READ response or an
// acknowledgement that skips a READ response is an implied NAK (IBTA 9.7.5.1.4).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "agent/base/units.h"
#include "agent/roce/view.h"
#include "testbed/rc/counters.h"
#include "testbed/rc/packet.h"
#include "testbed/rc/work.h"

namespace weft::rc {

class Requester {
 public:
  // `config` and `counters` outlive the requester.
  Requester(const QpConfig& config, Counters& counters);

  void post(Nanoseconds now, const WorkRequest& work, Events& events);

  // Whether the window, RNR wait and posted work allow a packet now.
  bool can_send() const;
  // The next packet; only if can_send().
  OutgoingPacket next_packet(Nanoseconds now);

  // A response packet whose ICRC was right.
  void receive(Nanoseconds now, const roce::PacketView& view, Events& events);

  // When advance() has something to do; nothing while no timer runs.
  std::optional<Nanoseconds> deadline() const;
  void advance(Nanoseconds now, Events& events);

 private:
  struct Work {
    WorkRequest request;
    roce::Psn first_psn;
    std::uint32_t packets = 0;  // PSNs it takes
    Completion completion;
    roce::Psn end_psn() const { return first_psn + packets; }
  };
  enum class Rewind : std::uint8_t { kNak, kTimeout, kRnr };

  std::uint32_t in_flight_packets() const;
  OutgoingPacket build_read(const Work& work) const;
  OutgoingPacket build_data(const Work& work) const;
  void receive_acknowledge(Nanoseconds now, const roce::PacketView& view, Events& events);
  void receive_read_response(Nanoseconds now, const roce::PacketView& view, Events& events);
  void receive_nak(Nanoseconds now, roce::Psn psn, std::uint8_t syndrome, Events& events);
  // Everything before `psn` has been acknowledged. False when a READ in front still lacks responses.
  bool acknowledge_before(Nanoseconds now, roce::Psn psn, Events& events);
  void complete_front(Nanoseconds now, Events& events);
  void progress(Nanoseconds now);
  void imply_nak(Nanoseconds now, Events& events);
  void rewind(Nanoseconds now, Rewind why, Events& events);
  void locate_next();
  void fail(Nanoseconds now, WorkStatus status, Events& events);
  void restart_timer(Nanoseconds now);

  const QpConfig& config_;
  Counters& counters_;
  std::deque<Work> works_;
  std::size_t send_index_ = 0;
  std::uint32_t reads_outstanding_ = 0;  // sent, not complete
  roce::Psn una_;
  roce::Psn next_;
  roce::Psn high_;
  roce::Psn end_;  // PSN the next posted request will take

  unsigned retries_left_;
  unsigned rnr_retries_left_;
  bool nak_rewound_ = false;  // by a NAK, and nothing acknowledged since
  std::optional<Nanoseconds> timer_;
  Nanoseconds timer_started_{0};
  std::optional<Nanoseconds> rnr_until_;
  bool failed_ = false;
};

}  // namespace weft::rc
