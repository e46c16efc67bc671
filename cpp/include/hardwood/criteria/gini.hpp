// Gini impurity: 1 - Σ p_k². Theorem 1 (a), the risk of the squared error.
#pragma once

#include "hardwood/criterion.hpp"
#include "hardwood/criterion_record.hpp"

namespace hardwood {

struct Gini : RiskCriterion<Gini>, SumOfSquares, PredictsProportions {
  static CriterionRecord record() {
    return {.name = "gini",
            .class_name = "Gini",
            .formula = "1 − Σ pₖ²",
            .doc = "Gini impurity: the risk of the squared error (Theorem 1a).",
            .aliases = {"mse"}};
  }

  static constexpr bool uses_max = false;
  using RiskCriterion::score;

  explicit Gini(const FitContext&) {}

  double risk(Counts node) const { return node.n > 0 ? pairs_apart(node) / node.n : 0; }

  double score(Summary<Sum> left, Summary<Sum> right) const {
    return static_cast<double>(left.sum) / left.n + static_cast<double>(right.sum) / right.n;
  }
  static double risk(Summary<Sum> side) {
    return side.n > 0 ? side.n - static_cast<double>(side.sum) / side.n : 0;
  }
  static double least_slope(double share, double squares) { return 1 - 2 * share + squares; }
  static double risk_of(double score, double n) { return n - score; }
  static float rough_score(RoughSide left, RoughSide right) {
    return static_cast<float>(left.sum) / static_cast<float>(left.n) +
           static_cast<float>(right.sum) / static_cast<float>(right.n);
  }
};

}  // namespace hardwood
