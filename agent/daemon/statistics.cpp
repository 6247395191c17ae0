#include "agent/daemon/statistics.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "agent/daemon/peer_report.h"

namespace weft::daemon {
namespace {

using nlohmann::json;

std::string_view port_name(recovery::Port port) { return port == recovery::Port::kLan ? "lan" : "wan"; }

// A percentile of fewer samples than this is one sample's luck.
constexpr std::uint64_t kSamplesForP99 = 100;

json recovery_json(const DurationHistogram& latency) {
  const auto milliseconds = [&](double share, std::uint64_t samples_needed) -> json {
    if (latency.samples() < samples_needed) return nullptr;
    return std::chrono::duration<double, std::milli>(*latency.percentile(share)).count();
  };
  return {{"samples", latency.samples()},
          {"p50", milliseconds(0.5, 1)},
          {"p99", milliseconds(0.99, kSamplesForP99)}};
}

json queue_json(const dataplane::QueueStatistics& queue) {
  json out = {{"port", port_name(queue.port)}, {"queue", queue.queue}};
#define X(member, name) out[name] = queue.agent->member.get();
  WEFT_QUEUE_COUNTERS(X)
#undef X
  out["kernel"] = {{"rx_dropped", queue.kernel.rx_dropped},
                   {"rx_ring_full", queue.kernel.rx_ring_full},
                   {"rx_fill_ring_empty_descs", queue.kernel.rx_fill_ring_empty},
                   {"rx_invalid_descs", queue.kernel.rx_invalid_descriptors},
                   {"tx_invalid_descs", queue.kernel.tx_invalid_descriptors},
                   {"tx_ring_empty_descs", queue.kernel.tx_ring_empty}};
  return out;
}

json events_json(const recovery::Counters& counters, const recovery::PolicyTable& policy) {
  json events = json::object();
  for (std::size_t i = 0; i < recovery::kEventCount; ++i) {
    for (std::size_t class_id = 0; class_id < recovery::kMaxClasses; ++class_id) {
      const std::uint64_t count =
          counters.get(static_cast<recovery::Event>(i), static_cast<recovery::ClassId>(class_id));
      if (count == 0) continue;
      // A peer may have more classes than this side has names.
      const std::string name = class_id < policy.classes.size() ? policy.classes[class_id].name
                                                                : fmt::format("class-{}", class_id);
      events[std::string(recovery::kEventNames[i])][name] = count;
    }
  }
  return events;
}

}  // namespace

json peer_json(const RepairProcessor::PeerReport& peer, const recovery::PolicyTable& policy) {
  json strengths = json::array();
  for (const auto& [stream, strength] : peer.strengths) {
    strengths.push_back({{"class", policy.classes[stream.class_id].name},
                         {"level", stream.level},
                         {"k", strength.columns},
                         {"r", strength.rows},
                         {"interleave", strength.interleave},
                         {"overhead", strength.overhead}});
  }
  const wire::LossCounts& loss = peer.measured_loss;
  json rtt_ms = nullptr;
  if (peer.rtt) rtt_ms = std::chrono::duration<double, std::milli>(*peer.rtt).count();
  json agreed = nullptr;
  json lacking = json::array();
  if (peer.terms) {
    agreed = {{"wan_mtu_bytes", peer.terms->wan_mtu_bytes},
              {"peer_wan_mtu_bytes", peer.terms->peer_wan_mtu_bytes},
              {"same_classes", peer.terms->same_classes},
              {"peer_decodes", peer.terms->peer_decodes}};
    for (const Error& shortcoming : shortcomings(*peer.terms))
      lacking.push_back({{"what", shortcoming.what}, {"hint", shortcoming.hint}});
  }
  return {{"name", peer.name},
          {"ready", peer.ready},
          {"rtt_ms", rtt_ms},
          {"agreed", std::move(agreed)},
          {"shortcomings", std::move(lacking)},
          {"recovery_ms", recovery_json(peer.recovery_latency)},
          {"flows", {{"sending", peer.sending_flows}, {"receiving", peer.receiving_flows}}},
          {"frames", {{"held", peer.held_frames}, {"kept", peer.kept_frames}}},
          {"measured_loss",
           {{"expected_packets", loss.expected_packets},
            {"lost_packets", loss.lost_packets},
            {"loss_runs", loss.loss_runs},
            {"ce_marked_packets", loss.ce_marked_packets},
            {"undecodable_packets", loss.undecodable_packets}}},
          {"strengths", std::move(strengths)},
          {"events", events_json(peer.counters, policy)}};
}

Result<json> statistics_json(dataplane::Datapath& datapath, const RepairProcessor::Report& repair,
                             const recovery::PolicyTable& policy, const ControlCounts& control) {
  const auto counters = datapath.classifier().counters();
  if (!counters) return fail(counters.error());
  json xdp = json::array();
  for (const dataplane::CounterValue& counter : *counters) {
    xdp.push_back(
        {{"port", port_name(counter.port)},
         {"cause", dataplane::cause_name(counter.cause)},
         {"class", counter.class_id < policy.classes.size() ? policy.classes[counter.class_id].name : "?"},
         {"packets", counter.packets},
         {"bytes", counter.bytes}});
  }
  const auto queues = datapath.statistics();
  if (!queues) return fail(queues.error());
  json queue_rows = json::array();
  for (const dataplane::QueueStatistics& queue : *queues) {
    queue_rows.push_back(queue_json(queue));
  }
  json peer_rows = json::array();
  for (const RepairProcessor::PeerReport& peer : repair.peers)
    peer_rows.push_back(peer_json(peer, policy));
  return json{{"xdp", std::move(xdp)},
              {"peers", std::move(peer_rows)},
              {"queues", std::move(queue_rows)},
              {"stalls", datapath.stalls()},
              {"flows_shed", control.flows_shed},
              {"flows_learned",
               {{"learned", control.flows_learned.learned},
                {"refused", control.flows_learned.refused},
                {"forgotten", control.flows_learned.forgotten}}},
              {"strays", events_json(repair.strays, policy)}};
}

}  // namespace weft::daemon
