// Residual loss: the probability that a source packet is lost and its block cannot recover it.
//
// A block's members are every d-th packet (d = interleave); its repairs follow its sources, d apart as well.
// For Reed-Solomon a lost source is undelivered when more than r of the k + r members are lost, for XOR when
// another member of its row is. The sums are exact over the loss process, the repairs' own losses included.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "agent/fec/code.h"
#include "agent/fec/loss_model.h"

namespace weft::fec {

// Everything about one loss model and one interleave, computed once, asked for many shapes.
class ResidualTable {
 public:
  // Shapes up to `max_columns` may be asked for. Reuses memory when assigned again.
  void compute(CodeKind code, const LossModel& model, unsigned interleave, unsigned max_columns);

  // columns <= max_columns, 1 <= rows <= kMaxRows.
  double residual(unsigned columns, unsigned rows) const;

 private:
  struct Sources;
  void compute_sources(unsigned max_columns);
  void add_source(const Sources& before, Sources& after, double expected_losses) const;
  void compute_repairs();
  double residual_reed_solomon(unsigned columns, unsigned rows) const;
  double residual_xor(unsigned columns, unsigned rows) const;

  // Losses counted one by one: no code repairs more, so beyond them only the expectation matters. A little
  // above kMaxRows, and even.
  static constexpr std::size_t kCounts = kMaxRows + 4;
  using Distribution = std::array<double, kCounts>;

  // After the first k sources: P(l lost, and the last of them arrived / was lost). Likelihoods too small to matter are left
  // out: on most paths a third of the counts is enough.
  struct Sources {
    std::size_t counts = 0;  // l < counts are worth counting; the rest is unset
    Distribution last_arrived;
    Distribution last_lost;
    double beyond = 0;  // E[lost; lost >= kCounts]
  };
  // P(more than x of r repairs are lost), given the fate of the last source.
  struct Repairs {
    std::array<double, kMaxRows + 1> after_arrival{};
    std::array<double, kMaxRows + 1> after_loss{};
  };

  CodeKind code_ = CodeKind::kReedSolomon;
  double loss_ = 0;
  LossStep step_;               // between neighbours of a block
  std::vector<double> memory_;  // correlation between members n apart
  std::vector<Sources> sources_;
  std::array<Repairs, kMaxRows + 1> repairs_;
};

double residual_loss(const BlockShape& shape, unsigned interleave, const LossModel& model);

}  // namespace weft::fec
