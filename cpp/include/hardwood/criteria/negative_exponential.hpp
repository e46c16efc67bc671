// Negative exponential impurity: min(1 - max p_k, λ sqrt((1 - Σ p_k²) (K-1)/K)), 0 < λ < 1.
// Theorem 6 for two classes and its generalisation to K. λ = 1 is misclassification, and λ = 0
// stands for the limit, the square root of Gini: those are criteria of their own.
#pragma once

#include <algorithm>
#include <cmath>

#include "hardwood/criteria/misclassification.hpp"
#include "hardwood/criteria/sqrt_gini.hpp"
#include "hardwood/criterion.hpp"
#include "hardwood/criterion_record.hpp"

namespace hardwood {

struct NegativeExponential : RiskCriterion<NegativeExponential>, SumOfSquares {
  static CriterionRecord record() {
    return {
        .name = "ne",
        .class_name = "NegativeExponential",
        .formula = "min{1 − max pₖ, λ √((1 − Σ pₖ²)(K−1)/K)}",
        .doc = "Negative exponential impurity (Theorem 6).",
        .parameters = {{.name = "lam",
                        .default_value = 0.5,
                        .doc = "Robustness λ. 1 is misclassification, the most robust. 0 stands "
                               "for the limit λ → 0, the square root of Gini, the least robust.",
                        .low = 0,
                        .high = 1}}};
  }
  // The ends of λ's range are criteria of their own.
  template <class Use>
  static auto with(const FitContext& context, double lam, const Use& use) {
    if (lam == 0) return use(SqrtGini(context));
    if (lam == 1) return use(Misclassification(context));
    return use(NegativeExponential(context, lam));
  }

  static constexpr bool uses_max = true;
  using RiskCriterion::score;

  double factor;  // λ sqrt((K-1)/K)

  NegativeExponential(const FitContext& context, double lam)
      : factor(lam * std::sqrt(1 - 1 / static_cast<double>(context.n_classes))) {}

  double risk(Counts node) const {
    return std::min(minority(node), factor * std::sqrt(pairs_apart(node)));
  }

  void predict_optimally(std::span<double> counts) const {
    const Counts node{counts, 0};
    if (minority(node) <= factor * std::sqrt(pairs_apart(node)) * (1 + kRounding))
      keep_majority(counts);
  }

  double risk(Summary<Sum> side) const {
    return std::min(side.n - side.max,
                    factor * std::sqrt(side.n * side.n - static_cast<double>(side.sum)));
  }
  double score(Summary<Sum> left, Summary<Sum> right) const { return -(risk(left) + risk(right)); }
  static double risk_of(double score, double) { return -score; }

  float rough_risk(RoughSide side) const {
    return std::min(
        static_cast<float>(side.n - side.max),
        static_cast<float>(factor) * std::sqrt(static_cast<float>(side.n * side.n - side.sum)));
  }
  float rough_score(RoughSide left, RoughSide right) const {
    return -(rough_risk(left) + rough_risk(right));
  }
};

}  // namespace hardwood
