// An impurity of two classes that is given by a table: that of a user's own loss.
//
// With m the weight of the lighter class and q = m / n its share, the impurity is piecewise cubic
// in q; which pieces depends on which class is the lighter one. Cells are found without a search:
// the leading bits of q as a floating-point number are the number of its cell. So there are 2^bits
// cells of equal width between q and 2q, and the table is as fine for a share of 1e-9 as for one of
// 1/2. A cell holds at most one kink and then has a second piece above it.
//
// In a cell that starts at q0, with t = q - q0,
//   risk = n × impurity = a n + b m + n (c t² + d t³):
// where the impurity is linear (c = d = 0), the risk is one linear function of the counts whatever
// the cell, so that splits inside such a stretch gain nothing, up to rounding.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "hardwood/criterion.hpp"
#include "hardwood/criterion_record.hpp"

namespace hardwood {

struct ImpurityTable {
  struct Piece {
    double a, b, c, d;
  };
  // The cell of a lighter class (0: the second, 1: the first) that changes its piece at a share.
  struct Kink {
    std::size_t lighter, cell;
    double share;
    Piece above;
  };

  int bits;     // 2^bits cells an octave
  int octaves;  // cell 0 is [0, 2^-octaves), where the impurity is linear; the last one is 1/2
                // alone
  std::vector<Piece> pieces;  // [lighter class][cell]
  std::vector<Kink> kinks;

  static std::size_t n_cells(int bits, int octaves) {
    return (static_cast<std::size_t>(octaves - 1) << bits) + 2;
  }
};

struct FromLoss : RiskCriterion<FromLoss> {
  static CriterionRecord record() {
    return {
        .name = "from_loss",
        .class_name = "",
        .formula = "",
        .doc = "The tabulated impurity of a loss.",
        .two_classes_only = true,
        .why_no_optimal_leaf = "has a known impurity, but no class distribution that attains it"};
  }

  // Of the sums a scan can keep, this criterion needs none: the count of the second class will do.
  using Sum = std::int64_t;
  static constexpr bool uses_sum = false;
  static constexpr bool uses_max = false;
  using RiskCriterion::score;

  FromLoss(const FitContext&, const ImpurityTable& table)
      : shift_(52 - table.bits), n_cells_(check(table)) {
    const double lowest = std::ldexp(1.0, -table.octaves);
    before_lowest_ = (std::bit_cast<std::int64_t>(lowest) >> shift_) - 1;
    start_mask_ = ~((std::int64_t{1} << shift_) - 1);
    auto cells = std::make_shared<Cells>();
    cells->kink.assign(2 * n_cells_, std::numeric_limits<double>::infinity());
    cells->piece = table.pieces;
    cells->piece.resize(4 * n_cells_, {0, 0, 0, 0});
    for (const auto& kink : table.kinks) {
      const std::size_t cell = kink.lighter * n_cells_ + kink.cell;
      cells->kink[cell] = kink.share;
      cells->piece[2 * n_cells_ + cell] = kink.above;
    }
    kink_ = cells->kink.data();
    piece_ = cells->piece.data();
    cells_ = std::move(cells);
  }

  double risk(double n, double first, double second) const {
    const bool first_lighter = first < second;
    const double m = first_lighter ? first : second;
    const double q = m / n;
    const auto bits = std::bit_cast<std::int64_t>(q);
    const std::int64_t number = (bits >> shift_) - before_lowest_;
    const auto n_cells = static_cast<std::int64_t>(n_cells_);
    std::int64_t cell = (number > 0 ? number : 0) + (first_lighter ? n_cells : 0);
    cell += q >= kink_[cell] ? 2 * n_cells : 0;
    const ImpurityTable::Piece& f = piece_[cell];
    const double t = q - std::bit_cast<double>(bits & start_mask_);
    return (f.a * n + f.b * m) + n * (t * t * (f.c + f.d * t));
  }
  double risk(Counts node) const {
    return risk(node.n, node.of_class[0], node.of_class.size() > 1 ? node.of_class[1] : 0);
  }
  double risk(Summary<Sum> side) const {
    const auto second = static_cast<double>(side.sum);
    return risk(side.n, side.n - second, second);
  }

  static Sum step(std::int64_t, std::int64_t) { return 0; }
  static Summary<Sum> summary(std::int32_t first, std::int32_t second) {
    return {static_cast<double>(first + second), second, 0};
  }
  double score(Summary<Sum> left, Summary<Sum> right) const { return -(risk(left) + risk(right)); }

 private:
  struct Cells {
    std::vector<double> kink;                 // [lighter class][cell]; infinity: none
    std::vector<ImpurityTable::Piece> piece;  // [above the kink][lighter class][cell]
  };

  static std::size_t check(const ImpurityTable& table) {
    if (table.bits < 0 || table.bits > 20 || table.octaves < 1 || table.octaves > 1000)
      throw std::invalid_argument("table: bits must be in [0, 20] and octaves in [1, 1000]");
    const std::size_t n_cells = ImpurityTable::n_cells(table.bits, table.octaves);
    if (table.pieces.size() != 2 * n_cells)
      throw std::invalid_argument("table: there must be a piece for every cell");
    for (const auto& kink : table.kinks)
      if (kink.lighter > 1 || kink.cell >= n_cells)
        throw std::invalid_argument("table: a kink lies in no cell");
    return n_cells;
  }

  int shift_;
  std::size_t n_cells_;
  std::int64_t before_lowest_, start_mask_;
  const double* kink_;
  const ImpurityTable::Piece* piece_;
  std::shared_ptr<const Cells> cells_;
};

}  // namespace hardwood
