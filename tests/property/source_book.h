// What the hosts sent, and what became of it on the WAN: the truth that deliveries are judged by. Knows nothing of
// agents; everything in it was seen on the wires.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/roce/flow_key.h"
#include "tests/property/sighting.h"

namespace weft::test {

// One transmission of a packet. Over IPv4 a retransmission has another IP ID and so another ICRC; over IPv6 it is the
// same again.
struct SentCopy {
  std::uint32_t icrc = 0;
  std::uint64_t number = 0;   // of all that any host sent, in order
  bool left_wan = false;      // came out with its ICRC right
  bool ce_on_arrival = true;  // every time it came out
  bool mark_changed = false;  // its DSCP was damaged, which no ICRC covers: the agent may not have seen it
  std::uint32_t arrivals = 0;
  std::uint32_t delivered_arrivals = 0;
  std::uint32_t delivered_rebuilt = 0;  // without an arrival: an agent made it anew
  bool seen_delivered() const { return delivered_arrivals + delivered_rebuilt > 0; }
};

struct SentPacket {
  roce::Bth bth;
  roce::Reth reth;
  std::uint32_t imm = 0;
  std::uint32_t payload_bytes = 0;
  std::uint8_t dscp = 0;
  roce::Psn message_first_psn;
  std::uint32_t message_bytes = 0;  // of the RDMA WRITE it belongs to, else 0
  std::vector<SentCopy> copies;

  // The first transmission with this ICRC of which `wanted` holds, else the newest with this ICRC; nullptr: none.
  template <class Wanted>
  SentCopy* find(std::uint32_t icrc, Wanted&& wanted) {
    SentCopy* newest = nullptr;
    for (SentCopy& copy : copies) {
      if (copy.icrc != icrc) continue;
      if (wanted(copy)) return &copy;
      newest = &copy;
    }
    return newest;
  }
  // A transmission has not come out of the WAN.
  bool missing() const {
    for (const SentCopy& copy : copies) {
      if (!copy.left_wan) return true;
    }
    return false;
  }
};

class SourceBook {
 public:
  // Frames from hosts, and out of the WAN; before anybody judges a delivery.
  void see(const Sighting& seen);

  SentPacket* find(const roce::FlowKey& flow, roce::Psn psn);
  std::uint64_t sent_packets() const { return sent_; }
  std::uint64_t resent_packets() const { return resent_; }
  std::uint64_t wrapped_flows() const { return wrapped_; }
  std::uint64_t reordered_packets() const { return reordered_; }
  std::uint64_t duplicated_packets() const { return duplicated_; }

 private:
  struct Flow {
    std::unordered_map<std::uint32_t, SentPacket> packets;  // by PSN
    roce::Psn message_first_psn;
    std::uint32_t message_bytes = 0;
    std::optional<roce::Psn> newest_arrival{};
    std::optional<roce::Psn> newest_sent{};
  };
  void record(const roce::PacketView& view);
  void left(const roce::PacketView& view);

  std::unordered_map<roce::FlowKey, Flow> flows_;
  std::uint64_t sent_ = 0;
  std::uint64_t resent_ = 0;
  std::uint64_t wrapped_ = 0;
  std::uint64_t reordered_ = 0;
  std::uint64_t duplicated_ = 0;
};

}  // namespace weft::test
