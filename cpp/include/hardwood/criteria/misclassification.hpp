// Misclassification impurity: C (1 - max p_k). Theorem 2: the risk of every conservative loss, with
// its constant C (01 loss 1, mean absolute error 2, infinity norm 1, GCE with q >= 1: 1/q).
#pragma once

#include "hardwood/criterion.hpp"
#include "hardwood/criterion_record.hpp"

namespace hardwood {

struct Misclassification : RiskCriterion<Misclassification> {
  static CriterionRecord record() {
    return {.name = "misclassification",
            .class_name = "Misclassification",
            .formula = "C (1 − max pₖ)",
            .doc = "Misclassification impurity: the risk of every conservative loss (Theorem 2).",
            .aliases = {"conservative"},
            .parameters = {{.name = "constant",
                            .default_value = 1,
                            .doc = "The constant C of the loss, for example 2 for the absolute "
                                   "error. It scales impurities and gains, and so "
                                   "``min_impurity_decrease`` and ``ccp_alpha``, but changes no "
                                   "split.",
                            .low = 0,
                            .includes_low = false}}};
  }

  using Sum = std::int64_t;
  static constexpr bool uses_sum = false;
  static constexpr bool uses_max = true;
  using RiskCriterion::score;

  double constant;

  explicit Misclassification(const FitContext&, double constant = 1) : constant(constant) {}

  double risk(Counts node) const { return constant * minority(node); }

  static void predict_optimally(std::span<double> counts) { keep_majority(counts); }

  static Sum step(std::int64_t, std::int64_t) { return 0; }
  double score(Summary<Sum> left, Summary<Sum> right) const { return left.max + right.max; }
};

}  // namespace hardwood
