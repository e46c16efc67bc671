// Misclassification impurity: C (1 - max p_k). Theorem 2: the risk of every conservative loss, with
// its constant C (01 loss 1, mean absolute error 2, infinity norm 1, GCE with q >= 1: 1/q).
#pragma once

#include "hardwood/criterion.hpp"

namespace hardwood {

struct Misclassification : RiskCriterion<Misclassification> {
  using Sum = std::int64_t;
  static constexpr bool uses_sum = false;
  static constexpr bool uses_max = true;
  using RiskCriterion::score;

  double constant;

  explicit Misclassification(const FitContext&, double constant = 1) : constant(constant) {}

  double risk(Counts node) const { return constant * minority(node); }

  static Sum step(std::int64_t, std::int64_t) { return 0; }
  double score(Summary<Sum> left, Summary<Sum> right) const { return left.max + right.max; }
};

}  // namespace hardwood
