#include "testbed/rc/driver/fill_log.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "agent/roce/headers.h"
#include "testbed/rc/driver/lines.h"

namespace weft::rc {
namespace {

struct Fill {
  std::uint32_t dst_qpn = 0;
  roce::Psn psn;
  std::uint64_t va = 0;
  std::uint32_t rkey = 0;
  ByteRange range;
};

std::optional<std::uint64_t> parse_hex(const std::string& text) {
  std::uint64_t value = 0;
  if (!text.starts_with("0x")) return std::nullopt;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data() + 2, end, value, 16);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  return value;
}

std::optional<Fill> parse_fill(std::string_view line) {
  try {
    const auto json = nlohmann::json::parse(line);
    const auto va = parse_hex(json.at("va").get<std::string>());
    if (!va) return std::nullopt;
    return Fill{json.at("flow").at("dst_qpn").get<std::uint32_t>(),
                roce::Psn(json.at("psn").get<std::uint32_t>()),
                *va,
                json.at("rkey").get<std::uint32_t>(),
                {json.at("offset").get<std::uint64_t>(), json.at("len").get<std::uint64_t>()}};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

using QpsByNumber = std::unordered_map<std::uint32_t, const PlannedQp*>;

// The message whose packet a fill names. A queue pair's messages are few enough to be searched.
const PlannedMessage* find_message(const Fill& fill, const Plan& plan, const QpsByNumber& qps,
                                   std::uint32_t pmtu_bytes) {
  const auto found = qps.find(fill.dst_qpn);
  if (found == qps.end()) return nullptr;
  for (const std::uint64_t id : found->second->messages) {
    const PlannedMessage& message = plan.messages[id];
    const PlannedSlot& slot = plan.slots[message.slot];
    const std::uint32_t packets = roce::packets_for(message.bytes, pmtu_bytes);
    if (!psn_in_run(fill.psn, message.first_psn, packets)) continue;
    const std::uint64_t offset =
        std::uint64_t{pmtu_bytes} * static_cast<std::uint32_t>(psn_distance(message.first_psn, fill.psn));
    const std::uint64_t bytes = std::min<std::uint64_t>(pmtu_bytes, message.bytes - offset);
    if (fill.va == slot.va && fill.rkey == slot.rkey && fill.range == ByteRange{offset, bytes})
      return &message;
  }
  return nullptr;
}

void sort_and_merge(std::vector<ByteRange>& ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.offset_bytes < b.offset_bytes; });
  std::vector<ByteRange> merged;
  for (const ByteRange& range : ranges) {
    const std::uint64_t end = range.offset_bytes + range.length_bytes;
    if (!merged.empty() && range.offset_bytes <= merged.back().offset_bytes + merged.back().length_bytes) {
      merged.back().length_bytes = std::max(merged.back().length_bytes, end - merged.back().offset_bytes);
    } else {
      merged.push_back(range);
    }
  }
  ranges = std::move(merged);
}

}  // namespace

Result<DeclaredFills> read_fill_log(std::string_view text, const Plan& plan, std::uint32_t pmtu_bytes,
                                    std::string_view where) {
  QpsByNumber qps;
  for (const PlannedQp& qp : plan.qps)
    qps[qp.responder_qpn] = &qp;
  DeclaredFills fills(plan.messages.size());
  const Status read =
      for_each_line(text, where, [&](std::string_view line, const std::string& place) -> Status {
        const auto fill = parse_fill(line);
        if (!fill) return fail("not a weft-fill/1 record", place);
        const PlannedMessage* message = find_message(*fill, plan, qps, pmtu_bytes);
        if (message == nullptr) return fail("a fill of no packet of this run", place);
        fills[message->id].push_back(fill->range);
        return {};
      });
  if (!read) return fail(read.error());
  for (auto& ranges : fills)
    sort_and_merge(ranges);
  return fills;
}

std::uint64_t undeclared_bytes(const std::vector<ByteRange>& runs, const std::vector<ByteRange>& declared) {
  std::uint64_t covered = 0;
  for (const ByteRange& run : runs) {
    for (const ByteRange& range : declared) {
      const std::uint64_t from = std::max(run.offset_bytes, range.offset_bytes);
      const std::uint64_t to =
          std::min(run.offset_bytes + run.length_bytes, range.offset_bytes + range.length_bytes);
      if (from < to) covered += to - from;
    }
  }
  return total_bytes(runs) - covered;
}

std::uint64_t total_bytes(const std::vector<ByteRange>& ranges) {
  std::uint64_t bytes = 0;
  for (const ByteRange& range : ranges)
    bytes += range.length_bytes;
  return bytes;
}

}  // namespace weft::rc
