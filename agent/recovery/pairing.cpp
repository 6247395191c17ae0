#include "agent/recovery/pairing.h"

#include <algorithm>

namespace weft::recovery {
namespace {

roce::FlowKey hosts_of(roce::FlowKey request) {
  request.dest_qpn = 0;
  return request;
}

roce::FlowKey hosts_answered_by(roce::FlowKey response) {
  std::swap(response.src, response.dst);
  response.response = false;
  return hosts_of(response);
}

}  // namespace

void Pairing::add_request_flow(const RxFlow& flow) {
  Group& group = groups_[hosts_of(flow.key)];
  group.overflown |= group.requests.size() >= kMaxGroupFlows;
  if (!group.overflown) group.requests.push_back(flow.handle);
}

void Pairing::remove_request_flow(const RxFlow& flow) {
  const auto it = groups_.find(hosts_of(flow.key));
  if (it == groups_.end()) return;
  Group& group = it->second;
  std::erase(group.requests, flow.handle);
  for (Responder& responder : group.responders) {
    std::erase(responder.candidates, flow.handle);
    if (responder.partner == flow.handle) responder.partner = kNoFlow;
  }
  partners_.erase(flow.handle);
  if (group.requests.empty()) groups_.erase(it);
}

bool Pairing::possible(FlowHandle request, roce::Psn psn) const {
  const RxFlow* flow = flows_.find(request);
  if (flow == nullptr || !flow->order.started()) return false;
  if (flow->order.after_read()) return true;  // how far it has come is not known exactly
  const std::int32_t lag = roce::psn_distance(psn, flow->order.forwarded_until());
  return lag > 0 && lag <= kMaxLagPackets;
}

// Behind a READ request any PSN is possible, so none says anything.
bool Pairing::bears_out(FlowHandle request) const {
  const RxFlow* flow = flows_.find(request);
  return flow != nullptr && !flow->order.after_read();
}

void Pairing::start_over(const Group& group, Responder& responder, roce::Psn psn) const {
  responder.evidence = 0;
  responder.candidates.clear();
  for (const FlowHandle request : group.requests) {
    if (!partners_.contains(request) && possible(request, psn)) responder.candidates.push_back(request);
  }
}

void Pairing::prefer_same_port(const Group& group, Responder& responder,
                               std::uint16_t udp_source_port) const {
  const auto same_port = [&](FlowHandle request) {
    const RxFlow* flow = flows_.find(request);
    return flow != nullptr && flow->path.known() && flow->path.udp_source_port() == udp_source_port;
  };
  if (std::ranges::count_if(group.requests, same_port) == 1)
    std::erase_if(responder.candidates, [&](FlowHandle request) { return !same_port(request); });
}

void Pairing::pair(Group& group, Responder& responder) {
  const FlowHandle request = responder.candidates.front();
  responder.partner = request;
  partners_.emplace(request, responder.dest_qpn);
  for (Responder& other : group.responders) {
    if (&other != &responder) std::erase(other.candidates, request);
  }
}

std::span<const FlowHandle> Pairing::on_response(const roce::FlowKey& response, std::uint16_t udp_source_port,
                                                 roce::Psn psn) {
  const auto it = groups_.find(hosts_answered_by(response));
  if (it == groups_.end() || it->second.overflown) return {};
  Group& group = it->second;
  auto found = std::ranges::find(group.responders, response.dest_qpn, &Responder::dest_qpn);
  if (found == group.responders.end()) {
    if (group.responders.size() >= kMaxGroupFlows) {
      group.overflown = true;
      group.responders.clear();
      for (const FlowHandle request : group.requests)
        partners_.erase(request);
      return {};
    }
    group.responders.push_back(
        {.dest_qpn = response.dest_qpn, .partner = kNoFlow, .candidates = {}, .evidence = 0, .last_psn = {}});
    found = std::prev(group.responders.end());
  }
  Responder& responder = *found;

  if (responder.partner != kNoFlow) {
    if (possible(responder.partner, psn)) return {&responder.partner, 1};
    partners_.erase(responder.partner);
    responder.partner = kNoFlow;
    responder.candidates.clear();
  }
  const std::size_t candidates_before = responder.candidates.size();
  std::erase_if(responder.candidates, [&](FlowHandle request) { return !possible(request, psn); });
  if (responder.candidates.empty()) {
    start_over(group, responder, psn);
    prefer_same_port(group, responder, udp_source_port);
  } else if (responder.candidates.size() != candidates_before) {
    responder.evidence = 0;
  }
  // The same PSN again says nothing new.
  if (responder.candidates.size() == 1 && bears_out(responder.candidates.front()) &&
      (responder.evidence == 0 || psn != responder.last_psn)) {
    ++responder.evidence;
    responder.last_psn = psn;
    if (responder.evidence >= kEnoughEvidence) pair(group, responder);
  }
  if (responder.partner != kNoFlow) return {&responder.partner, 1};
  return responder.candidates;
}

}  // namespace weft::recovery
