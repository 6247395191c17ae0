#include "agent/daemon/flow_report.h"

#include <nlohmann/json.hpp>

namespace weft::daemon {
namespace {

using nlohmann::json;

json flow_json(const recovery::FlowStatus& flow, const recovery::PolicyTable& policy) {
  json vlans = json::array();
  for (std::size_t i = 0; i < flow.key.vlan_count; ++i)
    vlans.push_back(flow.key.vids[i]);
  json row = {{"peer", flow.peer},
              {"direction", flow.sending ? "sending" : "receiving"},
              {"src", flow.key.src.to_string()},
              {"dst", flow.key.dst.to_string()},
              {"qpn", flow.key.dest_qpn},
              {"vlans", std::move(vlans)},
              {"response", flow.key.response},
              {"announced", flow.announced},
              {"arriving", flow.arriving},
              {"class", nullptr},
              {"level", nullptr},
              {"id", nullptr},
              {"epoch", flow.epoch},
              {"held_frames", flow.held_frames},
              {"paired", flow.paired}};
  if (flow.id) row["id"] = *flow.id;
  if ((flow.sending || flow.announced) && flow.class_known && flow.stream.class_id < policy.classes.size()) {
    row["class"] = policy.classes[flow.stream.class_id].name;
    row["level"] = flow.stream.level;
  }
  return row;
}

}  // namespace

json flows_json(recovery::NewestFlows& flows, const recovery::PolicyTable& policy) {
  json rows = json::array();
  for (const recovery::FlowStatus& flow : flows.take())
    rows.push_back(flow_json(flow, policy));
  return {{"total", flows.seen()}, {"flows", std::move(rows)}};
}

}  // namespace weft::daemon
