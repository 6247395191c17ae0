#include "agent/recovery/adaptation.h"

#include <algorithm>
#include <cmath>

#include "agent/recovery/hold_bound.h"
#include "agent/recovery/token_bucket.h"
#include "agent/roce/headers.h"
#include "agent/wire/format.h"
#include "agent/wire/repair_list.h"

namespace weft::recovery {
namespace {

using std::chrono::duration;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

// On short paths a wait of a round trip and a half would be too short to code in; nobody notices 20 ms.
constexpr Time kLeastUsefulHold = milliseconds(20);
// A group whose repairs take the whole bucket would leave the next one uncoded.
constexpr double kGroupShareOfBucket = 0.75;
// A new stream is taken to be fast until its rate is known; if it is slow, its first group is closed by its time.
constexpr double kAssumedPacketsPerSecond = 1e6;
// On a clean path the cheapest code there is will do: one repair for the longest block.
constexpr double kNoTarget = 1;
// Faster than this many of the largest groups in a hold makes no difference: every shape fits. A rate measured over
// batches that share their time may be anything above.
constexpr double kGroupsInHold = 2;
// Runs of 1.1 packets are what independent losses look like.
constexpr double kIndependentBelow = 0.1;

}  // namespace

Time coding_hold(const PathState& path) {
  // A round trip not yet measured is taken to use half of what the endpoint allows both.
  const Time round_trip = path.rtt.value_or(path.endpoint_timeout * 3 / 8);
  const Time without_queues = path.least_rtt.value_or(round_trip);
  return std::min(hold_bound(round_trip, path.endpoint_timeout),
                  std::max(without_queues * 3 / 2, kLeastUsefulHold));
}

fec::PacketSizes packet_sizes(const PathState& path, std::size_t packet_bytes) {
  const std::size_t around = (path.ipv6 ? roce::kIpv6Bytes : roce::kIpv4Bytes) + roce::kUdpBytes +
                             wire::kEnvelopeBytes + wire::kRepairFixedBytes;
  // A list has an entry for every flow of the block; most have one.
  const std::size_t list_packet = around + wire::kListEntryBytes;
  return {.source_bytes = packet_bytes,
          .repair_bytes = list_packet + fec::kSymbolLengthBytes + packet_bytes,
          .list_bytes = wire::kListSymbolBytes,
          .list_packet_bytes = list_packet,
          .list_packets = kMaxListCopies,
          .mtu_bytes = path.wan_mtu_bytes};
}

fec::StrengthQuery strength_query(double target_residual, const FecPolicy& fec, const PathState& path,
                                  const StreamState& stream) {
  const fec::PacketSizes sizes = packet_sizes(path, stream.packet_bytes);
  const std::size_t list_room =
      path.wan_mtu_bytes > sizes.list_packet_bytes ? path.wan_mtu_bytes - sizes.list_packet_bytes : 0;
  const double bucket = repair_bucket_limits(fec.max_overhead).depth_bytes;
  return {.code = fec.code,
          .target_residual = path.clean ? kNoTarget : target_residual,
          .loss = path.loss,
          .packets_per_second = stream.packets_per_second,
          .hold_bound = coding_hold(path),
          .max_overhead = fec.max_overhead,
          .max_group_repair_bytes = static_cast<std::size_t>(kGroupShareOfBucket * bucket),
          .max_columns = static_cast<unsigned>(
              std::clamp<std::size_t>(list_room / wire::kListSymbolBytes, 1, fec::kMaxColumns)),
          .max_interleave = kMaxInterleave,
          .sizes = sizes};
}

bool is_coded(const LevelPolicy& level, double loss, bool was_coded) {
  if (!level.target_residual) return false;
  if (level.uncoded_below_loss == 0) return true;
  return loss > (was_coded ? level.uncoded_below_loss / 2 : level.uncoded_below_loss);
}

double Steady::rounded(double value) const {
  if (value <= 0) return 0;
  constexpr double kStepsPerDoubling = 8;
  // A value that is a step already stays itself.
  constexpr double kOnStep = 1e-9;
  const double steps = kStepsPerDoubling * std::log2(value);
  return std::exp2((safe_ == Safe::kHigh ? std::ceil(steps - kOnStep) : std::floor(steps + kOnStep)) /
                   kStepsPerDoubling);
}

double Steady::follow(double value) {
  const double step = rounded(value);
  if (step == held_) {
    in_a_row_ = 0;
    return held_;
  }
  const bool far_off = safe_ == Safe::kHigh ? value < held_ / 2 : value > held_ * 2;
  if (!safer(step, held_) && !far_off) {
    if (in_a_row_ == 0 || safer(step, outermost_)) outermost_ = step;
    if (++in_a_row_ != settled_after_) return held_;
    held_ = outermost_;
  } else {
    held_ = step;
  }
  in_a_row_ = 0;
  return held_;
}

PathState SteadyPath::follow(const PathState& measured) {
  PathState steady = measured;
  const double beyond_one = measured.loss.burst - 1;
  steady.loss =
      fec::sane({.loss = loss_.follow(measured.loss.loss),
                 .burst = 1 + burst_beyond_one_.follow(beyond_one < kIndependentBelow ? 0 : beyond_one)});
  if (measured.rtt) {
    const double seconds = duration<double>(*measured.rtt).count();
    steady.rtt = duration_cast<Time>(duration<double>(rtt_seconds_.follow(seconds)));
    steady.least_rtt = duration_cast<Time>(duration<double>(least_rtt_seconds_.follow(seconds)));
  }
  return steady;
}

const fec::Strength* StrengthController::choose(const LevelPolicy& level, const FecPolicy& fec,
                                                const PathState& path, const StreamState& stream) {
  coded_ = is_coded(level, path.measured_loss, coded_);
  if (!coded_) return nullptr;
  StreamState steady_stream = stream;
  steady_stream.packets_per_second = kAssumedPacketsPerSecond;
  if (stream.packets_per_second > 0) {
    const auto hold = duration<double>(coding_hold(path));
    const double matters = kGroupsInHold * fec::kMaxColumns * kMaxInterleave / hold.count();
    steady_stream.packets_per_second =
        packets_per_second_.follow(std::min(stream.packets_per_second, matters));
  }
  const fec::StrengthQuery query = strength_query(*level.target_residual, fec, path, steady_stream);
  answer(query);
  return &answers_[current_].strength;
}

void StrengthController::answer(const fec::StrengthQuery& query) {
  if (!answers_.empty() && answers_[current_].query == query) return;
  if (const auto known = std::ranges::find(answers_, query, &Answer::query); known != answers_.end()) {
    current_ = static_cast<std::size_t>(known - answers_.begin());
    return;
  }
  current_ = next_;
  next_ = (next_ + 1) % kRemembered;
  if (current_ == answers_.size()) answers_.emplace_back();
  compute(query, answers_[current_]);
}

void StrengthController::compute(const fec::StrengthQuery& query, Answer& answer) {
  answer.query = query;
  const fec::Strength& strength = answer.strength = chooser_.choose(query);
  // XOR's rows share the columns among them: one left out would leave its columns without any repair.
  const bool all_rows = query.code == fec::CodeKind::kXor;
  if (strength.rows > 1) table_.compute(query.code, query.loss, strength.interleave, strength.columns);
  const double target = std::max(query.target_residual, strength.residual);
  unsigned rows = 1;
  for (unsigned columns = 1; columns <= strength.columns; ++columns) {
    while (rows < strength.rows && table_.residual(columns, rows) > target)
      ++rows;
    answer.rows_for[columns] = static_cast<std::uint8_t>(all_rows ? std::min(strength.rows, columns) : rows);
  }
  // A group opened before may hold longer blocks: they send what they have.
  std::fill(answer.rows_for.begin() + strength.columns + 1, answer.rows_for.end(),
            std::uint8_t{fec::kMaxRows});
}

}  // namespace weft::recovery
