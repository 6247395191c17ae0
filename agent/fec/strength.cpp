#include "agent/fec/strength.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace weft::fec {
namespace {

using std::chrono::nanoseconds;

// Repairs are paced: they follow their group within half of the time it took.
constexpr double kSpanOfGroup = 1.5;
// The part of the hold bound the whole may span. The rest is for reordering on the path and the agents' own work.
constexpr double kSpanOfHold = 0.9;
// How much more overhead a shorter wait is worth.
constexpr double kOverheadForDelay = 1.05;
// Depths worth trying: a depth between two of them saves less than the noise of the loss estimate.
constexpr std::array kDepths{1U, 2U, 3U, 4U, 6U, 8U, 12U, 16U, 24U, 32U};
// Once neighbours of a block are this independent, more depth buys nothing.
constexpr double kUncorrelated = 1e-4;

double packet_time_ns(const StrengthQuery& query) {
  return query.packets_per_second > 0 ? 1e9 / query.packets_per_second
                                      : std::numeric_limits<double>::infinity();
}

// Packets of the class that a group may consist of.
double packets_of_group(const StrengthQuery& query) {
  const double hold =
      std::max(0.0, static_cast<double>(query.hold_bound.count()) * kSpanOfHold / kSpanOfGroup);
  return std::min(hold / packet_time_ns(query), 1e9);
}

Strength describe(const StrengthQuery& query, unsigned columns, unsigned rows, unsigned interleave,
                  double residual) {
  const double packets = static_cast<double>(columns) * interleave;
  const double delay_ns = std::min(packets * kSpanOfGroup * packet_time_ns(query), 1e18);
  return {.columns = columns,
          .rows = rows,
          .interleave = interleave,
          .overhead = overhead(query.sizes, columns, rows),
          .residual = residual,
          .added_delay = nanoseconds(std::llround(delay_ns)),
          .meets_target = residual <= query.target_residual,
          .fits_hold_bound = packets <= packets_of_group(query)};
}

// The largest value in [low, high] that satisfies a predicate which, once false, stays false; low - 1 when none.
template <class Predicate>
unsigned last_true(unsigned low, unsigned high, Predicate&& holds) {
  while (low <= high) {
    const unsigned middle = low + (high - low) / 2;
    if (holds(middle)) {
      low = middle + 1;
    } else {
      high = middle - 1;
    }
  }
  return high;
}

// The shortest block whose overhead is allowed; above `most` when there is none.
unsigned shortest_block(const StrengthQuery& query, unsigned rows, unsigned most) {
  return last_true(1, most, [&](unsigned k) { return overhead(query.sizes, k, rows) > query.max_overhead; }) +
         1;
}

}  // namespace

std::size_t repair_bytes_of_block(const PacketSizes& sizes, unsigned columns, unsigned rows) {
  const std::size_t list = columns * sizes.list_bytes;
  if (sizes.repair_bytes + list <= sizes.mtu_bytes) return rows * (sizes.repair_bytes + list);
  return rows * sizes.repair_bytes + std::min(rows, sizes.list_packets) * (sizes.list_packet_bytes + list);
}

double overhead(const PacketSizes& sizes, unsigned columns, unsigned rows) {
  return static_cast<double>(repair_bytes_of_block(sizes, columns, rows)) /
         static_cast<double>(columns * sizes.source_bytes);
}

// One depth's share of the search.
struct StrengthChooser::Search {
  const StrengthQuery& query;
  const ResidualTable& table;
  unsigned depth;
  unsigned longest;  // k may not exceed this
  double& least_overhead;
  std::vector<Strength>& candidates;
  Strength& strongest;  // of those that miss the target

  void run() {
    for (unsigned rows = 1; rows <= kMaxRows; ++rows) {
      if (depth * repair_bytes_of_block(query.sizes, longest, rows) > query.max_group_repair_bytes) return;
      const unsigned shortest = shortest_block(query, rows, longest);
      // More rows would cost more still, in shorter blocks.
      if (shortest > longest) return;
      if (overhead(query.sizes, longest, rows) > least_overhead * kOverheadForDelay) return;
      const unsigned columns = last_true(
          shortest, longest, [&](unsigned k) { return table.residual(k, rows) <= query.target_residual; });
      if (columns < shortest) {
        consider_strongest(shortest, rows);
        continue;
      }
      const Strength found = describe(query, columns, rows, depth, table.residual(columns, rows));
      least_overhead = std::min(least_overhead, found.overhead);
      candidates.push_back(found);
      if (columns == longest) return;
    }
  }

  void consider_strongest(unsigned columns, unsigned rows) {
    const double residual = table.residual(columns, rows);
    if (strongest.rows == 0 || residual < strongest.residual)
      strongest = describe(query, columns, rows, depth, residual);
  }
};

Strength StrengthChooser::choose(const StrengthQuery& query) {
  const double group_packets = packets_of_group(query);
  const LossModel loss = sane(query.loss);
  const double memory = correlation(loss);
  // Whatever the shape, no more is undelivered than is lost: the longest block with one repair will do.
  const bool any_shape_will_do = query.target_residual >= loss.loss;
  double least_overhead = std::numeric_limits<double>::infinity();
  Strength strongest;
  candidates_.clear();
  for (const unsigned depth : kDepths) {
    if (depth > query.max_interleave || depth > group_packets) break;
    const auto longest = static_cast<unsigned>(std::min<double>(group_packets / depth, query.max_columns));
    table_.compute(query.code, query.loss, depth, longest);
    Search{query, table_, depth, longest, least_overhead, candidates_, strongest}.run();
    if (any_shape_will_do || std::pow(memory, depth) < kUncorrelated) break;
  }
  const Strength* best = nullptr;
  for (const Strength& candidate : candidates_) {
    if (candidate.overhead > least_overhead * kOverheadForDelay) continue;
    if (best == nullptr || candidate.added_delay < best->added_delay) best = &candidate;
  }
  if (best != nullptr) return *best;
  if (strongest.rows != 0) return strongest;
  return assess(query, std::min(shortest_block(query, 1, query.max_columns), query.max_columns), 1, 1);
}

Strength assess(const StrengthQuery& query, unsigned columns, unsigned rows, unsigned interleave) {
  return describe(query, columns, rows, interleave,
                  residual_loss({query.code, columns, rows}, interleave, query.loss));
}

}  // namespace weft::fec
