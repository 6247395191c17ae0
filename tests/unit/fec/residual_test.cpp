#include "agent/fec/residual.h"

#include <bit>
#include <cmath>

#include <gtest/gtest.h>

#include "tests/support/seed.h"

namespace weft::fec {
namespace {

// How many of the sources in `lost` (bit i: member i of the block, repairs behind the sources) stay lost.
unsigned undelivered(const BlockShape& shape, unsigned lost) {
  const unsigned lost_sources = lost & ((1U << shape.columns) - 1);
  if (shape.code == CodeKind::kReedSolomon)
    return std::popcount(lost) > static_cast<int>(shape.rows) ? std::popcount(lost_sources) : 0;
  unsigned count = 0;
  for (unsigned row = 0; row < shape.rows; ++row) {
    unsigned members = 1U << (shape.columns + row);
    for (unsigned column = row; column < shape.columns; column += shape.rows)
      members |= 1U << column;
    if (std::popcount(lost & members) > 1)
      count += static_cast<unsigned>(std::popcount(lost_sources & members));
  }
  return count;
}

// The definition, by enumeration of every pattern of a small block.
double enumerated(const BlockShape& shape, unsigned interleave, const LossModel& model) {
  const LossStep step = loss_step(model, interleave);
  const unsigned members = shape.columns + shape.rows;
  double sum = 0;
  for (unsigned lost = 0; lost < 1U << members; ++lost) {
    double probability = (lost & 1) != 0 ? model.loss : 1 - model.loss;
    for (unsigned i = 1; i < members; ++i) {
      const double p = (lost >> (i - 1) & 1) != 0 ? step.loss_after_loss : step.loss_after_arrival;
      probability *= (lost >> i & 1) != 0 ? p : 1 - p;
    }
    sum += probability * undelivered(shape, lost);
  }
  return sum / shape.columns;
}

TEST(Residual, IsTheSumOverAllLossPatterns) {
  for (const CodeKind code : {CodeKind::kReedSolomon, CodeKind::kXor}) {
    for (const LossModel model : {LossModel{1e-4, 1}, LossModel{1e-2, 1}, LossModel{1e-3, 4},
                                  LossModel{0.2, 3}, LossModel{1e-5, 16}}) {
      for (const unsigned interleave : {1U, 2U, 8U}) {
        for (unsigned columns = 1; columns <= 9; ++columns) {
          for (unsigned rows = 1; rows <= 4; ++rows) {
            const BlockShape shape{code, columns, rows};
            const double expected = enumerated(shape, interleave, model);
            ASSERT_NEAR(residual_loss(shape, interleave, model), expected, 1e-9 * expected + 1e-17)
                << columns << " columns, " << rows << " rows, depth " << interleave << ", loss " << model.loss
                << ", burst " << model.burst;
          }
        }
      }
    }
  }
}

// A packet-by-packet simulation that knows nothing of the sums: the loss process is stepped for every packet of
// a group, sources first, then repairs, as the encoder sends them.
struct Simulated {
  double residual = 0;
  std::uint64_t failures = 0;
};

Simulated simulate(Rng& rng, const BlockShape& shape, unsigned interleave, const LossModel& model,
                   std::uint64_t groups) {
  const double to_good = 1 / model.burst;
  const double to_bad = model.loss / (model.burst * (1 - model.loss));
  const bool independent = model.burst == 1;
  bool bad = rng.chance(model.loss);
  Simulated result;
  std::vector<std::vector<bool>> lost(interleave, std::vector<bool>(shape.columns + shape.rows));
  for (std::uint64_t group = 0; group < groups; ++group) {
    for (unsigned member = 0; member < shape.columns + shape.rows; ++member) {
      for (unsigned block = 0; block < interleave; ++block) {
        bad = independent ? rng.chance(model.loss) : rng.chance(bad ? 1 - to_good : to_bad);
        lost[block][member] = bad;
      }
    }
    for (const std::vector<bool>& members : lost) {
      unsigned total = 0;
      unsigned sources = 0;
      for (unsigned i = 0; i < members.size(); ++i) {
        total += members[i] ? 1 : 0;
        if (i < shape.columns) sources += members[i] ? 1 : 0;
      }
      if (shape.code == CodeKind::kReedSolomon) {
        if (total > shape.rows) result.failures += sources;
        continue;
      }
      for (unsigned row = 0; row < shape.rows; ++row) {
        unsigned in_row = members[shape.columns + row] ? 1 : 0;
        unsigned row_sources = 0;
        for (unsigned i = row; i < shape.columns; i += shape.rows)
          row_sources += members[i] ? 1 : 0;
        if (in_row + row_sources > 1) result.failures += row_sources;
      }
    }
  }
  result.residual = static_cast<double>(result.failures) /
                    static_cast<double>(groups * interleave * std::uint64_t{shape.columns});
  return result;
}

TEST(Residual, AgreesWithMonteCarloWithinTwofold) {
  Rng rng = weft::test::rng(41);
  constexpr std::uint64_t kPackets = 2'000'000;
  unsigned compared = 0;
  for (const BlockShape shape :
       {BlockShape{CodeKind::kReedSolomon, 32, 2}, BlockShape{CodeKind::kReedSolomon, 64, 4},
        BlockShape{CodeKind::kReedSolomon, 224, 1}, BlockShape{CodeKind::kXor, 64, 8},
        BlockShape{CodeKind::kXor, 20, 1}}) {
    for (const double loss : {1e-3, 1e-2, 5e-2}) {
      for (const double burst : {1.0, 4.0, 16.0}) {
        for (const unsigned interleave : {1U, 8U}) {
          const LossModel model{loss, burst};
          const std::uint64_t groups = kPackets / ((shape.columns + shape.rows) * interleave);
          const Simulated seen = simulate(rng, shape, interleave, model, groups);
          // Lost packets of one burst and of one block fail together: a hundred failures are a hundred independent
          // ones only when counted in those.
          if (static_cast<double>(seen.failures) < 100 * burst * (shape.rows + 1)) continue;
          ++compared;
          const double computed = residual_loss(shape, interleave, model);
          EXPECT_LT(computed, 2 * seen.residual) << loss << " " << burst << " " << interleave;
          EXPECT_GT(computed, seen.residual / 2) << loss << " " << burst << " " << interleave;
        }
      }
    }
  }
  EXPECT_GT(compared, 20U);
}

TEST(Residual, GrowsWithTheBlockAndShrinksWithRepairs) {
  ResidualTable table;
  for (const double burst : {1.0, 8.0}) {
    table.compute(CodeKind::kReedSolomon, {1e-3, burst}, 4, kMaxColumns);
    for (unsigned rows = 1; rows <= kMaxRows; ++rows) {
      for (unsigned columns = 2; columns <= kMaxColumns; ++columns) {
        ASSERT_GE(table.residual(columns, rows), table.residual(columns - 1, rows) * (1 - 1e-9) - 1e-18);
        if (rows > 1) {
          ASSERT_LE(table.residual(columns, rows), table.residual(columns, rows - 1) + 1e-18);
        }
      }
    }
  }
}

TEST(LossStep, KeepsTheMeanAndForgets) {
  const LossModel model{0.02, 5};
  for (const unsigned packets : {1U, 3U, 10U}) {
    const LossStep step = loss_step(model, packets);
    EXPECT_NEAR(model.loss * step.loss_after_loss + (1 - model.loss) * step.loss_after_arrival, model.loss,
                1e-15);
  }
  EXPECT_NEAR(loss_step(model, 1).loss_after_loss, 1 - 1 / model.burst, 1e-12);
  EXPECT_NEAR(loss_step(model, 200).loss_after_loss, model.loss, 1e-9);
  EXPECT_EQ(loss_step({0.02, 1}, 1).loss_after_loss, 0.02);
}

}  // namespace
}  // namespace weft::fec
