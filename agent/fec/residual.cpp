#include "agent/fec/residual.h"

#include <algorithm>
#include <cmath>

namespace weft::fec {
namespace {

// Of a target residual of 1e-12 a billionth, and there are hundreds of counts and columns.
constexpr double kNegligible = 1e-24;

}  // namespace

void ResidualTable::compute(CodeKind code, const LossModel& given, unsigned interleave,
                            unsigned max_columns) {
  const LossModel model = sane(given);
  code_ = code;
  loss_ = model.loss;
  step_ = loss_step(model, interleave);
  if (code == CodeKind::kXor) {
    const double between_members = std::pow(correlation(model), interleave);
    memory_.assign(max_columns + kMaxRows + 1, 1.0);
    for (std::size_t n = 1; n < memory_.size(); ++n)
      memory_[n] = memory_[n - 1] * between_members;
    return;
  }
  compute_sources(max_columns);
  compute_repairs();
}

void ResidualTable::compute_sources(unsigned max_columns) {
  sources_.resize(max_columns + 1);
  // A source before the first would have been in the stationary state.
  sources_[0].counts = 1;
  sources_[0].last_arrived[0] = 1 - loss_;
  sources_[0].last_lost[0] = loss_;
  sources_[0].beyond = 0;
  for (unsigned k = 1; k <= max_columns; ++k)
    add_source(sources_[k - 1], sources_[k], k * loss_);
}

void ResidualTable::add_source(const Sources& before, Sources& after, double expected_losses) const {
  const double lost_a = step_.loss_after_arrival;
  const double lost_l = step_.loss_after_loss;
  double one_less_arrived = 0;  // the likelihoods of one loss less before
  double one_less_lost = 0;
  double counted = 0;
  for (std::size_t l = 0; l < before.counts; ++l) {
    const double arrived = before.last_arrived[l];
    const double lost = before.last_lost[l];
    after.last_arrived[l] = arrived * (1 - lost_a) + lost * (1 - lost_l);
    after.last_lost[l] = one_less_arrived * lost_a + one_less_lost * lost_l;
    counted += static_cast<double>(l) * (after.last_arrived[l] + after.last_lost[l]);
    one_less_arrived = arrived;
    one_less_lost = lost;
  }
  after.counts = before.counts;
  after.beyond = 0;
  const double one_more = one_less_arrived * lost_a + one_less_lost * lost_l;
  if (after.counts == kCounts) {
    after.beyond = std::max(0.0, expected_losses - counted);
  } else if (one_more > kNegligible) {
    after.last_arrived[after.counts] = 0;
    after.last_lost[after.counts] = one_more;
    ++after.counts;
  }
}

void ResidualTable::compute_repairs() {
  repairs_[0] = Repairs{};
  for (unsigned r = 1; r <= kMaxRows; ++r) {
    const Repairs& fewer = repairs_[r - 1];
    for (unsigned x = 0; x <= kMaxRows; ++x) {
      // The first repair arrives: more than x of the others; it is lost: more than x - 1 of them.
      const double arrives = fewer.after_arrival[x];
      const double is_lost = x == 0 ? 1.0 : fewer.after_loss[x - 1];
      repairs_[r].after_arrival[x] =
          (1 - step_.loss_after_arrival) * arrives + step_.loss_after_arrival * is_lost;
      repairs_[r].after_loss[x] = (1 - step_.loss_after_loss) * arrives + step_.loss_after_loss * is_lost;
    }
  }
}

double ResidualTable::residual(unsigned columns, unsigned rows) const {
  const double lost =
      code_ == CodeKind::kXor ? residual_xor(columns, rows) : residual_reed_solomon(columns, rows);
  return std::clamp(lost / columns, 0.0, loss_);
}

// Expected number of sources that are lost for good.
double ResidualTable::residual_reed_solomon(unsigned columns, unsigned rows) const {
  const Sources& sources = sources_[columns];
  const Repairs& repairs = repairs_[rows];
  double lost = sources.beyond;
  for (unsigned l = 1; l < sources.counts; ++l) {
    double fails = sources.last_arrived[l] + sources.last_lost[l];
    if (l <= rows) {
      fails = sources.last_arrived[l] * repairs.after_arrival[rows - l] +
              sources.last_lost[l] * repairs.after_loss[rows - l];
    }
    lost += l * fails;
  }
  return lost;
}

// The same: what is lost, less what is lost alone in its row and so recovered.
double ResidualTable::residual_xor(unsigned columns, unsigned rows) const {
  // Members of a row stand `rows` apart; its repair, row j's, is member columns + j of the block.
  const double memory = memory_[std::min<std::size_t>(rows, memory_.size() - 1)];
  const double stays_good = 1 - loss_ * (1 - memory);
  const double turns_bad = 1 - stays_good;
  const double turns_good = (1 - loss_) * (1 - memory);
  double recovered = 0;
  unsigned run_members = 0;
  double run = 0;  // P(members - 2 more arrive after one that did); two values at most, so kept between rows
  for (unsigned row = 0; row < std::min(rows, columns); ++row) {
    const unsigned members = (columns - row - 1) / rows + 1;
    const unsigned last = row + (members - 1) * rows;
    const double gap = memory_[columns + row - last];
    const double arrives_after_arrival = 1 - loss_ * (1 - gap);
    const double arrives_after_loss = (1 - loss_) * (1 - gap);
    if (members == 1) {
      recovered += loss_ * arrives_after_loss;
      continue;
    }
    if (members != run_members) {
      run = std::pow(stays_good, members - 2);
      run_members = members;
    }
    const double first = loss_ * turns_good * run * arrives_after_arrival;
    const double last_one = (1 - loss_) * run * turns_bad * arrives_after_loss;
    const double between =
        (members - 2) * (1 - loss_) * turns_bad * turns_good * run / stays_good * arrives_after_arrival;
    recovered += first + last_one + between;
  }
  return std::max(0.0, columns * loss_ - recovered);
}

double residual_loss(const BlockShape& shape, unsigned interleave, const LossModel& model) {
  ResidualTable table;
  table.compute(shape.code, model, interleave, shape.columns);
  return table.residual(shape.columns, shape.rows);
}

}  // namespace weft::fec
