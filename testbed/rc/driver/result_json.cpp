#include "testbed/rc/driver/result_json.h"

#include <string>

#include "agent/base/version.h"

namespace weft::rc {
namespace {

using nlohmann::ordered_json;

std::string_view name_of(WorkOp op) {
  switch (op) {
    case WorkOp::kSend:
    case WorkOp::kSendWithImm:
      return "send";
    case WorkOp::kWrite:
      return "write";
    case WorkOp::kWriteWithImm:
      return "write-imm";
    case WorkOp::kRead:
      return "read";
  }
  return "unknown";
}

ordered_json frame_of(const Options& options, std::string_view role, const RunFacts& facts) {
  return {{"schema", "weft-roce/1"},
          {"role", role},
          {"version", kVersion},
          {"params",
           {{"op", name_of(options.op)},
            {"messages", options.messages.size()},
            {"warmup", options.plan.warmup_messages},
            {"qps", options.plan.slots},
            {"pmtu", options.plan.pmtu_bytes},
            {"rate_mbit", static_cast<double>(options.rate_bits_per_second) / 1e6},
            {"window_bytes", options.window_bytes},
            {"timeout_ms", std::chrono::duration<double, std::milli>(options.timeout).count()},
            {"retry", options.retry_count},
            {"ack_every", options.ack_every},
            {"seed", options.plan.seed}}},
          {"start_unix_ns", facts.start_unix_ns},
          {"elapsed_ns", facts.elapsed.count()}};
}

ordered_json row_of(const Plan& plan, const PlannedMessage& message, std::uint32_t qpn) {
  return {
      {"id", message.id},       {"slot", message.slot}, {"class", plan.qps[message.qp].traffic_class.name},
      {"bytes", message.bytes}, {"qpn", qpn},           {"psn", message.first_psn.value}};
}

ordered_json counters_json(const Counters& c, const RunFacts& facts) {
  return {{"qp_errors", c.qp_errors},
          {"timeouts", c.timeouts},
          {"timeout_wait_ns", c.timeout_wait.count()},
          {"packets_sent", c.packets_sent},
          {"ip_bytes_sent", c.ip_bytes_sent},
          {"retransmitted_packets", c.retransmitted_packets},
          {"retransmitted_ip_bytes", c.retransmitted_ip_bytes},
          {"acks_received", c.acks_received},
          {"sequence_naks_received", c.sequence_naks_received},
          {"rnr_naks_received", c.rnr_naks_received},
          {"implied_naks", c.implied_naks},
          {"naks_ignored", c.naks_ignored},
          {"stale_responses", c.stale_responses},
          {"retries_exhausted", c.retries_exhausted},
          {"requests_in_order", c.requests_in_order},
          {"out_of_sequence", c.out_of_sequence},
          {"duplicates", c.duplicates},
          {"acks_sent", c.acks_sent},
          {"sequence_naks_sent", c.sequence_naks_sent},
          {"rnr_naks_sent", c.rnr_naks_sent},
          {"error_naks_sent", c.error_naks_sent},
          {"read_responses_sent", c.read_responses_sent},
          {"read_responses_resent", c.read_responses_resent},
          {"frames_received", c.frames_received},
          {"not_ours", c.not_ours},
          {"malformed", c.malformed},
          {"icrc_errors", c.icrc_errors},
          {"rx_overruns", facts.rx_overruns}};
}

// Adds the numbers of `row` named in `keys` to the sums of its class.
void add_to_class(ordered_json& classes, const ordered_json& row, std::string_view done_key,
                  std::initializer_list<const char*> keys) {
  ordered_json& sums = classes.emplace(row["class"].get<std::string>(), ordered_json::object()).first.value();
  const auto add = [&sums](const std::string& key, std::uint64_t amount) {
    sums[key] = sums.value(key, std::uint64_t{0}) + amount;
  };
  add("messages", 1);
  add(std::string(done_key), row["status"] == "unfinished" ? 0 : 1);
  for (const char* key : keys)
    add(key, row[key].get<std::uint64_t>());
}

// The three verdicts on delivered bytes.
void add_check(ordered_json& row, const PayloadCheck& check, const std::vector<ByteRange>& declared) {
  row["filled_bytes"] = total_bytes(check.zero_runs);
  row["declared_fill_bytes"] = total_bytes(declared);
  row["corrupt_bytes"] = check.corrupt_bytes + undeclared_bytes(check.zero_runs, declared);
}

}  // namespace

ordered_json requester_result(const Options& options, const Plan& plan, const RequesterApp& app,
                              const Counters& counters, const RunFacts& facts) {
  ordered_json result = frame_of(options, "requester", facts);
  ordered_json rows = ordered_json::array();
  ordered_json classes = ordered_json::object();
  ordered_json totals = counters_json(counters, facts);
  std::uint64_t corrupt_bytes = 0;
  for (const PlannedMessage& message : plan.messages) {
    ordered_json row = row_of(plan, message, plan.qps[message.qp].requester_qpn);
    const auto& ended = app.completions()[message.id];
    const Completion completion = ended.value_or(Completion{});
    const bool ok = ended && ended->status == WorkStatus::kSuccess;
    const auto since_start = [&](Nanoseconds at) { return (at - app.started_at()).count(); };
    row["post_ns"] = ended ? ordered_json(since_start(completion.posted_at)) : nullptr;
    row["complete_ns"] = ok ? ordered_json(since_start(completion.completed_at)) : nullptr;
    row["fct_ns"] = ok ? ordered_json((completion.completed_at - completion.posted_at).count()) : nullptr;
    row["packets"] = completion.packets;
    row["retransmitted_packets"] = completion.retransmitted_packets;
    row["timeouts"] = completion.timeouts;
    row["timeout_wait_ns"] = completion.timeout_wait.count();
    row["status"] = ended ? describe(ended->status) : "unfinished";
    if (const auto& check = app.checks()[message.id]) {
      add_check(row, *check, {});
      corrupt_bytes += row["corrupt_bytes"].get<std::uint64_t>();
    }
    if (message.id < plan.warmup_messages) continue;
    add_to_class(classes, row, "completed",
                 {"bytes", "packets", "retransmitted_packets", "timeouts", "timeout_wait_ns"});
    rows.push_back(std::move(row));
  }
  if (options.op == WorkOp::kRead) totals["corrupt_bytes"] = corrupt_bytes;
  result["messages"] = std::move(rows);
  result["classes"] = std::move(classes);
  result["totals"] = std::move(totals);
  return result;
}

ordered_json responder_result(const Options& options, const Plan& plan, const ResponderApp& app,
                              const DeclaredFills& fills, const Counters& counters, const RunFacts& facts) {
  ordered_json result = frame_of(options, "responder", facts);
  ordered_json rows = ordered_json::array();
  ordered_json classes = ordered_json::object();
  ordered_json totals = counters_json(counters, facts);
  const auto verdicts = {"filled_bytes", "declared_fill_bytes", "corrupt_bytes"};
  for (const char* key : verdicts)
    totals[key] = std::uint64_t{0};
  for (const PlannedMessage& message : plan.messages) {
    ordered_json row = row_of(plan, message, plan.qps[message.qp].responder_qpn);
    const auto& arrived = app.arrived()[message.id];
    row["arrived_ns"] = arrived ? ordered_json((arrived->at - app.started_at()).count()) : nullptr;
    add_check(row, arrived ? arrived->check : PayloadCheck{}, fills[message.id]);
    row["status"] = !arrived ? "unfinished" : row["corrupt_bytes"] == 0 ? "ok" : "corrupt";
    for (const char* key : verdicts)
      totals[key] = totals[key].get<std::uint64_t>() + row[key].get<std::uint64_t>();
    if (message.id < plan.warmup_messages) continue;
    add_to_class(classes, row, "arrived", {"bytes", "filled_bytes", "declared_fill_bytes", "corrupt_bytes"});
    rows.push_back(std::move(row));
  }
  totals["unexpected_messages"] = app.unexpected_messages();
  result["messages"] = std::move(rows);
  result["classes"] = std::move(classes);
  result["totals"] = std::move(totals);
  return result;
}

}  // namespace weft::rc
