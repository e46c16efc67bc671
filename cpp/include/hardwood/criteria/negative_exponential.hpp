// Negative exponential impurity: min(1 - max p_k, λ sqrt((1 - Σ p_k²) (K-1)/K)), 0 < λ < 1.
// Theorem 6 for two classes and its generalisation to K. λ = 1 is misclassification, and λ = 0
// stands for the limit, the square root of Gini: those are criteria of their own.
#pragma once

#include <algorithm>
#include <cmath>

#include "hardwood/criteria/gini.hpp"
#include "hardwood/criterion.hpp"

namespace hardwood {

struct NegativeExponential : RiskCriterion<NegativeExponential>, SumOfSquares {
  static constexpr bool uses_max = true;
  using RiskCriterion::score;

  double factor;  // λ sqrt((K-1)/K)

  NegativeExponential(const FitContext& context, double lam)
      : factor(lam * std::sqrt(1 - 1 / static_cast<double>(context.n_classes))) {}

  double risk(Counts node) const {
    return std::min(minority(node), factor * std::sqrt(pairs_apart(node)));
  }

  double risk(Summary<Sum> side) const {
    return std::min(side.n - side.max,
                    factor * std::sqrt(side.n * side.n - static_cast<double>(side.sum)));
  }
  double score(Summary<Sum> left, Summary<Sum> right) const { return -(risk(left) + risk(right)); }
};

}  // namespace hardwood
