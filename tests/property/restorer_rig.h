// A restorer between a lossy link and go-back-N endpoints, in virtual time, without encoder and wire formats: sources
// are coded here with fec::BlockEncoder and handed over as wire structs. What the endpoints see is checked packet by
// packet.
//
//   senders ──sources──▶ link (loss, burst, reorder, duplicate, corrupt) ──▶ restorer ──▶ receivers
//      └──▶ blocks ──repairs, manifests─▶ link ──────────────────────────────▶┘               │ ACK, NAK
//      ◀───────────────────────────────────────── link (no loss) ◀────────────────────────────┘
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "agent/base/rng.h"
#include "agent/fec/block_encoder.h"
#include "agent/recovery/restorer.h"
#include "agent/roce/builder.h"
#include "testbed/sim/frame_pool.h"

namespace weft::test {

using sim::FramePool;

struct RigOptions {
  unsigned flows = 4;
  unsigned messages_per_flow = 40;
  unsigned max_message_packets = 64;
  bool ipv6 = false;
  std::uint8_t vlans = 0;
  roce::Psn first_psn{};
  bool unreliable_connection = false;  // UC instead of RC
  bool reads = false;                  // some messages are READ requests
  recovery::ClassId class_id = 1;
  std::uint8_t level = 0;
  bool coded = true;
  bool manifests = false;  // of what is not coded, and descriptors of messages
  unsigned min_fill_message_packets = 32;
  std::optional<double> fill_budget =
      std::nullopt;          // of every level of the class; the default policy's when not given
  bool answers_seen = true;  // the receivers' acknowledgements pass the restorer
  unsigned k = 32;
  unsigned r = 4;
  unsigned interleave = 4;
  double loss = 0;
  double mean_burst = 1;
  double reorder = 0;  // share of packets delayed by up to reorder_by
  recovery::Time reorder_by = std::chrono::microseconds(400);
  double duplicate = 0;
  double corrupt = 0;
  recovery::Time one_way = std::chrono::milliseconds(5);
  recovery::Time spacing = std::chrono::microseconds(10);  // of all packets of all flows
  recovery::RestorerLimits limits{};
};

class RestorerRig : public recovery::FillSink {
 public:
  RestorerRig(const RigOptions& options, std::uint64_t seed);
  ~RestorerRig() override;

  // Until every flow is complete or `limit` of virtual time is over; true when complete.
  bool run(recovery::Time limit);
  // Ends the engine; every frame must have come back.
  void finish();

  recovery::Restorer& restorer() { return *restorer_; }
  recovery::Time restorer_hold_bound() const { return hold_bound_; }
  const recovery::Counters& counters() const { return counters_; }
  FramePool& pool() { return pool_; }
  recovery::Time now() const { return now_; }
  void at(recovery::Time when, std::function<void()> what) { events_.emplace(when, std::move(what)); }

  std::uint64_t naks() const { return naks_; }
  std::uint64_t sources_lost() const { return sources_lost_; }
  std::uint64_t sources_sent() const { return sources_sent_; }
  std::uint64_t resent() const { return resent_; }
  std::uint64_t timeouts() const { return timeouts_; }
  recovery::Time longest_hold() const { return longest_hold_; }
  recovery::Time finished_at() const { return now_; }
  void print_events() const;

  // Reported fills are those that happened, of packets that were lost, within budget and message cap.
  void check_fills(double budget, double per_message) const;
  std::size_t fills_reported() const { return fills_.size(); }

 private:
  struct Packet {
    roce::Psn psn;
    unsigned message = 0;
    std::uint32_t psn_span = 1;
    roce::PacketHeaders headers;
    std::uint32_t payload_bytes = 0;
  };
  struct Flow {
    std::uint32_t qpn = 0;
    roce::PacketPath path;
    std::vector<Packet> packets;
    std::size_t next_to_send = 0;
    std::size_t acknowledged = 0;  // packets
    std::size_t highest_sent = 0;
    recovery::Time progress_at{};
    // receiver
    std::size_t expected = 0;  // index of the packet
    bool nak_sent = false;
    bool announced = false;
  };
  struct Group {
    std::vector<fec::BlockEncoder> encoders;
    std::vector<std::vector<wire::Repair::Source>> sources;
    std::uint32_t first_ordinal = 0;
    unsigned packets = 0;
    recovery::Time opened{};
  };

  void make_flow(unsigned index);
  Bytes frame_of(unsigned flow, const Packet& packet, std::uint16_t ip_id) const;
  Bytes payload_of(unsigned flow, const Packet& packet) const;
  void send_next();
  void code(unsigned flow, const Bytes& frame);
  void note_in_manifest(unsigned flow, const Packet& packet);
  void send_manifest();
  void accept_filled(unsigned flow, const Packet& packet, const roce::PacketView& view);
  void close_group();
  bool link_loses();
  recovery::Time link_delay();
  void deliver_source(Bytes frame);
  void receive(ByteView frame);
  void answer(unsigned flow, std::uint8_t syndrome, roce::Psn psn);
  void on_fill(const recovery::FillRecord& record) override;

  RigOptions options_;
  Rng rng_;
  FramePool pool_;
  recovery::PolicyTable policy_ = recovery::PolicyTable::defaults();
  recovery::Counters counters_;
  std::unique_ptr<recovery::Restorer> restorer_;

  recovery::Time now_{};
  std::multimap<recovery::Time, std::function<void()>> events_;
  std::vector<Flow> flows_;
  unsigned turn_ = 0;
  std::uint16_t ip_id_ = 1;
  bool link_bad_ = false;
  std::uint32_t ordinal_ = 0;
  Group group_;
  std::uint64_t group_serial_ = 0;
  wire::Manifest manifest_;
  std::uint32_t manifest_packets_ = 0;
  std::set<std::pair<unsigned, std::uint32_t>> lost_;                  // flow and PSN, of any transmission
  std::map<std::pair<unsigned, std::uint32_t>, std::uint32_t> zeros_;  // accepted, with their bytes
  std::uint64_t true_bytes_ = 0;                                       // accepted
  std::unordered_map<std::uint64_t, recovery::Time> received_at_;      // by frame

  std::vector<recovery::FillRecord> fills_;
  std::uint64_t naks_ = 0;
  std::uint64_t sources_lost_ = 0;
  std::uint64_t sources_sent_ = 0;
  std::uint64_t resent_ = 0;
  std::uint64_t timeouts_ = 0;
  recovery::Time longest_hold_{};
  recovery::Time hold_bound_{};
};

}  // namespace weft::test
