// Generalised cross entropy impurity: (1 - ||p||_r) / q with r = 1/(1-q), 0 < q < 1.
// Theorem 1 (d). q = 0 is entropy and q >= 1 misclassification / q: those are criteria of their
// own.
#pragma once

#include "hardwood/count_table.hpp"
#include "hardwood/criteria/entropy.hpp"
#include "hardwood/criteria/misclassification.hpp"
#include "hardwood/criterion.hpp"
#include "hardwood/criterion_record.hpp"
#include "hardwood/math.hpp"

namespace hardwood {

struct PowerOfCount {
  double exponent = 1;

  double operator()(std::int64_t count) const {
    return count == 0 ? 0 : math::pow(static_cast<double>(count), exponent);
  }
};

struct GeneralizedCrossEntropy : RiskCriterion<GeneralizedCrossEntropy> {
  static CriterionRecord record() {
    return {.name = "gce",
            .class_name = "GeneralizedCrossEntropy",
            .formula = "(1 − ‖p‖₁/₍₁₋q₎) / q",
            .doc = "Generalised cross entropy impurity (Theorem 1d).",
            .parameters = {{.name = "q",
                            .default_value = 0.7,
                            .doc = "0 is entropy; 1 and above is misclassification divided by q.",
                            .low = 0}}};
  }
  template <class Use>
  static auto with(const FitContext& context, double q, const Use& use) {
    // Below this, dividing by q would magnify rounding more than entropy differs from it.
    if (q < 1e-6) return use(Entropy(context));
    if (q >= 1) return use(Misclassification(context, 1 / q));
    return use(GeneralizedCrossEntropy(context, q));
  }

  using Sum = double;
  static constexpr bool uses_sum = true;
  static constexpr bool uses_max = false;
  using RiskCriterion::score;

  double q;
  double r;
  bool powers_fit;
  CountTable<PowerOfCount> power;

  GeneralizedCrossEntropy(const FitContext& context, double q)
      : q(q),
        r(1 / (1 - q)),
        powers_fit(r * math::log(std::max(context.total_weight, 2.0)) < 600),
        power(PowerOfCount{r}, powers_fit ? context.largest_tabulated_count() : 0) {}

  bool can_sum() const { return powers_fit; }
  double rounding() const { return kRounding + 1e-15 / q; }

  // n - ||n||_r with the largest count taken out, so that no power overflows and little cancels:
  // n - m (1 + t)^(1/r) = (n - m) - m ((1 + t)^(1/r) - 1), t = Σ_others (n_k/m)^r.
  double risk(Counts node) const {
    const auto major = std::max_element(node.of_class.begin(), node.of_class.end());
    double others = 0, t = 0;
    for (auto count = node.of_class.begin(); count != node.of_class.end(); ++count) {
      if (count == major || *count <= 0) continue;
      others += *count;
      const double log_power = r * math::log(std::max(*count / *major, 1e-300));
      if (log_power > -600) t += math::exp(log_power);
    }
    return (others - *major * math::expm1(math::log1p(t) / r)) / q;
  }

  // p^r, the largest count taken out as powers can underflow.
  void predict_optimally(std::span<double> counts) const {
    const double largest = *std::max_element(counts.begin(), counts.end());
    for (double& count : counts) {
      const double log_power = r * math::log(std::max(count / largest, 1e-300));
      count = count > 0 && log_power > -600 ? math::exp(log_power) : 0;
    }
  }

  Sum step(std::int64_t count, std::int64_t weight) const {
    return power(count + weight) - power(count);
  }
  double score(Summary<Sum> left, Summary<Sum> right) const {
    return math::pow(left.sum, 1 / r) + math::pow(right.sum, 1 / r);
  }
};

}  // namespace hardwood
