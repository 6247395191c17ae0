#include "testbed/rc/driver/plan.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "agent/base/rng.h"
#include "agent/roce/headers.h"
#include "testbed/rc/driver/lines.h"

namespace weft::rc {
namespace {

// Streams of the seed.
enum Label : std::uint64_t { kShuffle = 1, kQpns, kPsns, kKeys };

constexpr std::uint8_t kLargestDscp = 63;

// Buffers lie apart in the address space, so that an address names its slot.
constexpr std::uint64_t kFirstVa = 0x7f10'0000'0000;
constexpr std::uint64_t kVaStride = std::uint64_t{1} << 31;

Result<MessageSpec> parse_message(std::string_view line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object()) return fail("not a JSON object");
  const auto bytes = json.find("bytes");
  const auto name = json.find("class");
  const auto dscp = json.find("dscp");
  if (bytes == json.end() || !bytes->is_number_unsigned()) return fail("'bytes' is missing or no count");
  if (name == json.end() || !name->is_string()) return fail("'class' is missing or no name");
  if (dscp == json.end() || !dscp->is_number_unsigned()) return fail("'dscp' is missing or no number");
  if (bytes->get<std::uint64_t>() > kLargestMessageBytes) return fail("'bytes' is beyond 1 GiB");
  if (dscp->get<std::uint64_t>() > kLargestDscp) return fail("'dscp' is beyond 63");
  return MessageSpec{bytes->get<std::uint32_t>(), {name->get<std::string>(), dscp->get<std::uint8_t>()}};
}

// QPNs are consecutive, as a device hands them out, from a different start on each host.
std::uint32_t qpn_base(Rng& rng) { return static_cast<std::uint32_t>(rng.between(0x11, 0xfff)); }

}  // namespace

Result<TrafficClass> parse_class(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  unsigned dscp = 0;
  if (colon != std::string_view::npos && colon > 0) {
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data() + colon + 1, end, dscp);
    if (error == std::errc{} && stopped == end && dscp <= kLargestDscp)
      return TrafficClass{std::string(text.substr(0, colon)), static_cast<std::uint8_t>(dscp)};
  }
  return fail(fmt::format("'{}' is not a class and its DSCP", text), {}, "write it like exact:26");
}

std::vector<MessageSpec> mixed_messages(std::uint64_t count, const std::vector<std::uint32_t>& sizes,
                                        const std::vector<TrafficClass>& classes, std::uint64_t seed) {
  std::vector<MessageSpec> messages(count);
  for (std::size_t i = 0; i < count; ++i)
    messages[i] = {sizes[i % sizes.size()], classes[i / sizes.size() % classes.size()]};
  Rng rng = Rng::stream(seed, kShuffle);
  for (std::size_t i = count; i > 1; --i)
    std::swap(messages[i - 1], messages[rng.below(i)]);
  return messages;
}

Result<std::vector<MessageSpec>> parse_workload(std::string_view text, std::string_view where) {
  std::vector<MessageSpec> messages;
  const Status read =
      for_each_line(text, where, [&](std::string_view line, const std::string& place) -> Status {
        auto message = parse_message(line);
        if (!message) {
          return fail(message.error().what, place,
                      R"(one message a line: {"bytes":65536,"class":"pp","dscp":18})");
        }
        messages.push_back(std::move(*message));
        return {};
      });
  if (!read) return fail(read.error());
  if (messages.empty()) return fail("no messages", std::string(where));
  return messages;
}

Plan make_plan(const std::vector<MessageSpec>& measured, const PlanOptions& options) {
  std::vector<MessageSpec> messages(
      options.warmup_messages,
      MessageSpec{kWarmupMessageBytes, {"warmup", measured.front().traffic_class.dscp}});
  messages.insert(messages.end(), measured.begin(), measured.end());
  Rng qpns = Rng::stream(options.seed, kQpns);
  Rng psns = Rng::stream(options.seed, kPsns);
  Rng keys = Rng::stream(options.seed, kKeys);
  const std::uint32_t requester_base = qpn_base(qpns);
  const std::uint32_t responder_base = qpn_base(qpns);
  const auto start_psn = [&] {
    const auto random = static_cast<std::uint32_t>(psns.below(roce::kPsnCount));
    return roce::Psn(options.first_psn.value_or(random));
  };

  Plan plan;
  plan.warmup_messages = options.warmup_messages;
  plan.slots.resize(options.slots);
  for (std::size_t slot = 0; slot < plan.slots.size(); ++slot) {
    plan.slots[slot].va = kFirstVa + slot * kVaStride;
    plan.slots[slot].rkey = static_cast<std::uint32_t>(keys.next());
  }
  std::map<std::pair<std::uint32_t, std::pair<std::string, std::uint8_t>>, std::uint32_t> qp_of;
  std::vector<roce::Psn> next_psn;
  for (std::size_t id = 0; id < messages.size(); ++id) {
    const MessageSpec& spec = messages[id];
    const bool warmup = id < options.warmup_messages;
    const auto slot =
        warmup ? 0U : static_cast<std::uint32_t>((id - options.warmup_messages) % options.slots);
    const TrafficClass& traffic_class = spec.traffic_class;
    const auto index = static_cast<std::uint32_t>(plan.qps.size());
    const auto [place, is_new] = qp_of.try_emplace({slot, {traffic_class.name, traffic_class.dscp}}, index);
    if (is_new) {
      plan.qps.push_back({.slot = slot,
                          .traffic_class = traffic_class,
                          .requester_qpn = requester_base + index,
                          .responder_qpn = responder_base + index,
                          .requester_psn = start_psn(),
                          .responder_psn = start_psn(),
                          .messages = {}});
      next_psn.push_back(plan.qps.back().requester_psn);
    }
    PlannedQp& qp = plan.qps[place->second];
    roce::Psn& psn = next_psn[place->second];
    plan.messages.push_back({id, slot, place->second, qp.messages.size(), spec.bytes, psn});
    psn += roce::packets_for(spec.bytes, options.pmtu_bytes);
    qp.messages.push_back(id);
    plan.slots[slot].messages.push_back(id);
    plan.slots[slot].buffer_bytes = std::max(plan.slots[slot].buffer_bytes, spec.bytes);
  }
  return plan;
}

}  // namespace weft::rc
