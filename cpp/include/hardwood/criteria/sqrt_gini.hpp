// Square root of the Gini impurity: sqrt(1 - Σ p_k²). What the negative exponential impurity tends
// to, up to a factor, as λ goes to 0.
#pragma once

#include <cmath>

#include "hardwood/criterion.hpp"
#include "hardwood/criterion_record.hpp"

namespace hardwood {

struct SqrtGini : RiskCriterion<SqrtGini>, SumOfSquares, PredictsProportions {
  static CriterionRecord record() {
    return {
        .name = "sqrt_gini",
        .class_name = "SqrtGini",
        .formula = "√(1 − Σ pₖ²)",
        .doc = "Square root of the Gini impurity: the limit of the negative exponential as λ → 0."};
  }

  static constexpr bool uses_max = false;
  using RiskCriterion::score;

  explicit SqrtGini(const FitContext&) {}

  double risk(Counts node) const { return std::sqrt(pairs_apart(node)); }

  static double risk(Summary<Sum> side) {
    return std::sqrt(side.n * side.n - static_cast<double>(side.sum));
  }
  double score(Summary<Sum> left, Summary<Sum> right) const { return -(risk(left) + risk(right)); }
  static double least_slope(double share, double squares) {
    return (1 - share) / std::sqrt(1 - squares);
  }
  static double risk_of(double score, double) { return -score; }

  static float rough_risk(RoughSide side) {
    return std::sqrt(static_cast<float>(side.n * side.n - side.sum));
  }
  static float rough_score(RoughSide left, RoughSide right) {
    return -(rough_risk(left) + rough_risk(right));
  }
};

}  // namespace hardwood
