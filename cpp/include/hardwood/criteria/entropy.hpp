// Entropy: -Σ p_k log p_k, natural logarithm. Theorem 1 (b), the risk of the cross entropy.
#pragma once

#include <cmath>

#include "hardwood/count_table.hpp"
#include "hardwood/criterion.hpp"
#include "hardwood/criterion_record.hpp"
#include "hardwood/math.hpp"

namespace hardwood {

// n log n in fixed point: sums of it are exact, so the order of the samples cannot change them.
struct FixedPointNLogN {
  double scale = 1;

  std::int64_t operator()(std::int64_t count) const {
    return count < 2 ? 0 : of(static_cast<double>(count));
  }
  // n >= 1
  std::int64_t of(double n) const {
    return static_cast<std::int64_t>(n * math::log(n) * scale + 0.5);
  }

  // The largest power of two that keeps total · log(total) below 2^60.
  static FixedPointNLogN up_to(double total) {
    const double largest = std::max(total * math::log(std::max(total, 2.0)), 2.0);
    return {std::ldexp(1.0, 60 - std::ilogb(largest) - 1)};
  }
};

struct Entropy : RiskCriterion<Entropy>, PredictsProportions {
  static CriterionRecord record() {
    return {
        .name = "entropy",
        .class_name = "Entropy",
        .formula = "−Σ pₖ log pₖ",
        .doc = "Entropy, with the natural logarithm: the risk of the cross entropy (Theorem 1b).",
        .aliases = {"ce", "log_loss"}};
  }

  using Sum = std::int64_t;
  static constexpr bool uses_sum = true;
  static constexpr bool uses_max = false;
  using RiskCriterion::score;

  CountTable<FixedPointNLogN> n_log_n;

  explicit Entropy(const FitContext& context)
      : n_log_n(FixedPointNLogN::up_to(context.total_weight), context.largest_tabulated_count()) {}

  double risk(Counts node) const {
    double sum = 0;
    for (const double count : node.of_class)
      // n / count can only overflow for weights that no sum of them would notice.
      if (count > 0 && count < node.n) sum += count * math::log(std::min(node.n / count, 1e300));
    return sum;
  }

  Sum step(std::int64_t count, std::int64_t weight) const {
    return n_log_n(count + weight) - n_log_n(count);
  }
  Sum risk(Summary<Sum> side) const {
    return n_log_n(static_cast<std::int64_t>(side.n)) - side.sum;
  }
  double score(Summary<Sum> left, Summary<Sum> right) const {
    return -static_cast<double>(risk(left) + risk(right));
  }
};

}  // namespace hardwood
