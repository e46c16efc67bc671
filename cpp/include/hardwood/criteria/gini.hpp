// Gini impurity: 1 - Σ p_k². Theorem 1 (a), the risk of the squared error.
#pragma once

#include "hardwood/criterion.hpp"

namespace hardwood {

// Σ n_k², a whole number where the counts are.
struct SumOfSquares {
  using Sum = std::int64_t;
  static constexpr bool uses_sum = true;
  static Sum step(std::int64_t count, std::int64_t weight) { return weight * (2 * count + weight); }
};

struct Gini : RiskCriterion<Gini>, SumOfSquares {
  static constexpr bool uses_max = false;
  using RiskCriterion::score;

  explicit Gini(const FitContext&) {}

  double risk(Counts node) const { return node.n > 0 ? pairs_apart(node) / node.n : 0; }

  double score(Summary<Sum> left, Summary<Sum> right) const {
    return static_cast<double>(left.sum) / left.n + static_cast<double>(right.sum) / right.n;
  }
};

}  // namespace hardwood
