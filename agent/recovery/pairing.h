// Which response flow answers which request flow. The BTH names only the destination's queue pair, so of two flows in
// opposite directions between two hosts nothing says that they belong together. It is learned:
//
//   - an acknowledgement of a PSN that was not delivered to the responder is not that request flow's,
//   - nor is one far behind what the responder has;
//   - NICs that hash both queue pairs into the UDP source port use the same port in both directions: where one request
//     flow has the port of the responses, no other answers to them.
//
// A response flow is paired when one candidate is left and several acknowledgements have borne it out. Queue pairs that
// run in lockstep from PSN 0 (NCCL's channels) stay ambiguous until they drift apart; a pair that is contradicted is
// dissolved and learned anew. A request flow has at most one partner.
//
// Flows are grouped by host pair and VLANs; a group of more than kMaxGroupFlows on either side is left ambiguous.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "agent/recovery/rx_flow_table.h"
#include "agent/roce/flow_key.h"
#include "agent/roce/psn.h"

namespace weft::recovery {

class Pairing {
 public:
  explicit Pairing(const RxFlowTable& flows) : flows_(flows) {}

  // A request flow appeared, or went.
  void add_request_flow(const RxFlow& flow);
  void remove_request_flow(const RxFlow& flow);

  // A response left the lan which shows that its responder has seen `psn`. Returns the request flows it may answer:
  // exactly one when paired. Valid until the next call.
  std::span<const FlowHandle> on_response(const roce::FlowKey& response, std::uint16_t udp_source_port,
                                          roce::Psn psn);

  bool paired(FlowHandle request) const { return partners_.contains(request); }

 private:
  static constexpr std::size_t kMaxGroupFlows = 256;
  // In lockstep any number would be borne out, but there no candidate is left alone.
  static constexpr std::uint32_t kEnoughEvidence = 3;
  // What a host has received and not acknowledged yet: its own delay, not the WAN's.
  static constexpr std::int32_t kMaxLagPackets = 1 << 16;

  struct Responder {
    std::uint32_t dest_qpn = 0;
    FlowHandle partner = kNoFlow;
    std::vector<FlowHandle> candidates;
    std::uint32_t evidence = 0;
    roce::Psn last_psn;
  };
  struct Group {
    std::vector<FlowHandle> requests;
    std::vector<Responder> responders;
    bool overflown = false;
  };

  bool possible(FlowHandle request, roce::Psn psn) const;
  bool bears_out(FlowHandle request) const;
  void start_over(const Group& group, Responder& responder, roce::Psn psn) const;
  void prefer_same_port(const Group& group, Responder& responder, std::uint16_t udp_source_port) const;
  void pair(Group& group, Responder& responder);

  const RxFlowTable& flows_;
  std::unordered_map<roce::FlowKey, Group> groups_;         // by request flow key without its queue pair
  std::unordered_map<FlowHandle, std::uint32_t> partners_;  // request flow to the response's queue pair
};

}  // namespace weft::recovery
