// testbed/rc: a RoCEv2 reliable-connection endpoint without sockets or clocks. Frames and time go in, frames
// and events come out; the raw-packet driver, the simulator and the tests put their own world around it.
//
//    post() ------> Requester --+                       +--> completions
//                               +--> pacer --> frame    |
//    receive() --+> Responder --+     (round robin) ----+--> arrivals, reads
//                +> Requester
//
// A host owns its queue pairs, one pacer for all of them, and the registered memory; the bytes of memory,
// receive buffers and sinks are the caller's. Acknowledgements and NAKs leave at once, requests and READ data
// when the pacer allows, one packet per queue pair in turn. Every transmission takes a new IP ID, as rdma_rxe
// does, so a resent packet has the same PSN but other bytes. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "testbed/rc/counters.h"
#include "testbed/rc/memory.h"
#include "testbed/rc/pacer.h"
#include "testbed/rc/requester.h"
#include "testbed/rc/responder.h"
#include "testbed/rc/work.h"

namespace weft::rc {

class Host {
 public:
  explicit Host(Pacer pacer) : pacer_(pacer) {}
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // QPNs are unique in a host: a queue pair with the number of another takes its place, as one that was made anew.
  // Windows are at most kMaxWindowPackets.
  void add_qp(const QpConfig& config);
  Memory& memory() { return memory_; }

  // `qpn` names a queue pair of this host.
  void post(Nanoseconds now, std::uint32_t qpn, const WorkRequest& work);
  void post_receive(std::uint32_t qpn, MutableByteView buffer);

  // A frame from the wire, whatever it holds. Its bytes are not kept.
  void receive(Nanoseconds now, ByteView frame);
  // Runs the timers that are due.
  void advance(Nanoseconds now);
  // The next frame, if one may leave at `now`: its size, or 0. `out` holds at least kLargestFrameBytes.
  std::size_t next_frame(Nanoseconds now, MutableByteView out);

  // When next_frame() or advance() will have something to do if nothing is received before; nothing when idle.
  std::optional<Nanoseconds> next_deadline() const;

  // What happened since the last call.
  Events take_events() { return std::exchange(events_, {}); }
  const Counters& counters() const { return counters_; }

  // Ethernet, two VLAN tags, IPv6 and the largest RoCE headers around the largest PMTU.
  static constexpr std::size_t kLargestFrameBytes = roce::kMaxPmtuBytes + 160;

 private:
  struct Qp {
    Qp(const QpConfig& c, const Memory& memory, Counters& counters)
        : config(c), requester(config, counters), responder(config, memory, counters) {}
    QpConfig config;
    Requester requester;
    Responder responder;
    bool in_replies = false;
    bool in_data = false;
  };

  // Puts a queue pair into the queues it has something to send in.
  void enqueue(Qp& qp);
  std::size_t next_reply(MutableByteView out);
  std::size_t next_data(Nanoseconds now, MutableByteView out);
  std::size_t build(Qp& qp, const OutgoingPacket& packet, MutableByteView out);

  Pacer pacer_;
  Memory memory_;
  Counters counters_;
  Events events_;
  std::vector<std::unique_ptr<Qp>> qps_;
  std::unordered_map<std::uint32_t, Qp*> by_qpn_;
  std::deque<Qp*> replies_;  // acknowledgement in front
  std::deque<Qp*> data_;     // request or READ response in front, in turn
  std::uint16_t ip_id_ = 1;
};

}  // namespace weft::rc
