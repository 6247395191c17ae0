// P1, P2, P3 and P10 at the last wire: every RoCE packet a host gets was sent by the other side, byte for byte, or is a
// fill that was allowed.
//
//   delivered ──▶ name known? ──yes──▶ it arrived just now, or an agent made it anew (at most once, and not after it
//                     │                was delivered; an acknowledgement only while it is the newest)
//                     no ──▶ a fill: a WRITE of a fillable class, zeros, with the sender's headers, of a packet that
//                            was sent and has not come out of the WAN
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tests/property/fill_account.h"
#include "tests/property/source_book.h"

namespace weft::test {

class DeliveryWatch {
 public:
  DeliveryWatch(const sim::SitesConfig& config, const recovery::PolicyTable& policy, SourceBook& book,
                Complaints& complaints)
      : config_(config),
        policy_(policy),
        book_(book),
        complaints_(complaints),
        account_(policy, complaints) {}

  // Frames to hosts, and what hosts answer.
  void see(const Sighting& seen);
  void forget(const roce::FlowKey& flow) {
    turns_.erase(flow);
    answered_.erase(flow);
    account_.forget(flow);
  }
  // Without an agent at this side the bridge carries everything, Weft packets too.
  void agent_present(sim::Side side, bool present) { present_[sim::index(side)] = present; }
  // Whether the agent of this side has started anew, or lost its peer and forgotten all: it may take again for new what
  // it has delivered before.
  std::function<bool(sim::Side side)> has_forgotten;

  std::uint64_t fills() const { return fills_.size(); }
  // Fills of packets that came out of the WAN after all.
  std::uint64_t late_fills() const;
  std::uint64_t rebuilt() const { return rebuilt_; }

 private:
  struct Turn {
    roce::Psn next;
    bool started = false;
  };
  // What was delivered last of the answers of a queue pair.
  struct Answered {
    roce::Psn psn;
    std::uint64_t number = 0;  // SentCopy::number
    // A straggler of another life of the queue pair is not ahead of this one's answers.
    bool is_before(roce::Psn other) const {
      const std::int32_t ahead = roce::psn_distance(psn, other);
      return ahead > 0 || ahead < -recovery::kMaxAgePackets;
    }
  };
  struct Fill {
    roce::FlowKey flow;
    roce::Psn psn;
    std::size_t copies = 0;  // transmissions there had been when it was filled
  };

  void judge_true(sim::Side side, const roce::PacketView& view, SentPacket& packet, SentCopy& copy);
  void judge_fill(sim::Side side, const roce::PacketView& view, SentPacket* packet);
  void note_answered(const roce::FlowKey& flow, roce::Psn psn, std::uint64_t number);
  void judge_answer(const roce::PacketView& view);
  bool takes_turn(const roce::PacketView& view);

  const sim::SitesConfig& config_;
  const recovery::PolicyTable& policy_;
  SourceBook& book_;
  Complaints& complaints_;
  FillAccount account_;
  std::unordered_map<roce::FlowKey, Turn> turns_;
  std::unordered_map<roce::FlowKey, Answered> answered_;
  std::vector<Fill> fills_;
  std::uint64_t rebuilt_ = 0;
  std::array<bool, 2> present_{true, true};
};

}  // namespace weft::test
