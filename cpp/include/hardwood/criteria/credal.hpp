// Credal: the imprecise information gain of Mantas & Abellán 2014,
// H*(S) - [(|a| + s) H*(a) + |b| H*(b)] / (|S| + s), a the child with the larger H*.
// H* is the largest entropy of the imprecise Dirichlet model: the entropy after adding mass s to
// the smallest counts, which fills them up like water. It scores splits.
//
// Where the counts are whole and the mass is at most 1, it raises the smallest count alone, or
// shares itself among those that are equally small, and H* needs but n, Σ n_k log n_k and these.
#pragma once

#include <algorithm>

#include "hardwood/count_table.hpp"
#include "hardwood/criteria/entropy.hpp"
#include "hardwood/criterion.hpp"
#include "hardwood/criterion_record.hpp"
#include "hardwood/math.hpp"

namespace hardwood {

// (n + mass) log(n + mass) in fixed point.
struct FixedPointFilled {
  FixedPointNLogN n_log_n;
  double mass = 0;

  std::int64_t operator()(std::int64_t count) const {
    return n_log_n.of(static_cast<double>(count) + mass);
  }
};

struct Credal {
  static CriterionRecord record() {
    return {.name = "credal",
            .class_name = "Credal",
            .formula = "H*(S) − [(|a| + s) H*(a) + |b| H*(b)] / (|S| + s)",
            .doc =
                "Imprecise information gain (Mantas & Abellán, 2014): entropy with a mass s in "
                "doubt. With whole counts and s ≤ 1 the cost of a cut does not depend on the "
                "number of classes; otherwise it grows with it.",
            .parameters = {{.name = "s",
                            .default_value = 1,
                            .doc = "Mass of the imprecise Dirichlet model, in units of "
                                   "``sample_weight``.",
                            .low = 0,
                            .includes_low = false}},
            .scores_splits = true,
            .why_no_optimal_leaf = "scores splits and is not the impurity of a loss"};
  }

  using Sum = std::int64_t;
  static constexpr bool uses_sum = true;
  static constexpr bool uses_max = false;
  static constexpr bool uses_min = true;

  double mass;
  FixedPointNLogN fixed_point;
  CountTable<FixedPointNLogN> n_log_n;
  CountTable<FixedPointFilled> filled;

  Credal(const FitContext& context, double s)
      : mass(s / context.weight_unit),
        fixed_point(FixedPointNLogN::up_to(context.total_weight + 2)),
        n_log_n(fixed_point, can_sum() ? context.largest_tabulated_count() : 0),
        filled({fixed_point, can_sum() ? mass : 1},
               can_sum() ? context.largest_tabulated_count() : 0) {}

  bool can_sum() const { return mass <= 1; }

  // The level to which the mass raises the smallest counts: those below it share it equally. Taking
  // out the counts above the level lowers it, until none is above.
  double water_level(Counts node) const {
    double level = (node.n + mass) / static_cast<double>(node.of_class.size());
    for (;;) {
      double below = 0;
      std::size_t n_below = 0;
      for (const double count : node.of_class)
        if (count < level) {
          below += count;
          ++n_below;
        }
      const double lower = (below + mass) / static_cast<double>(n_below);
      if (!(lower < level)) return level;
      level = lower;
    }
  }

  double impurity(Counts node) const {
    const double level = water_level(node);
    const double total = node.n + mass;
    double sum = 0;
    for (const double count : node.of_class) {
      const double filled = std::max(count, level);
      if (filled < total) sum += filled * math::log(total / filled);
    }
    return sum / total;
  }

  // (|a| + s) H*(a) + |b| H*(b)
  double weighted_entropy(double n_left, double of_left, double n_right, double of_right) const {
    return n_left * of_left + n_right * of_right + mass * std::max(of_left, of_right);
  }
  double weighted_entropy(Counts left, Counts right) const {
    return weighted_entropy(left.n, impurity(left), right.n, impurity(right));
  }
  double score(Counts left, Counts right) const { return -weighted_entropy(left, right); }
  double gain(Counts parent, Counts left, Counts right) const {
    const double before = impurity(parent);
    const double gain = before - weighted_entropy(left, right) / (parent.n + mass);
    return gain > kRounding * before ? parent.n * gain : 0;
  }

  Sum step(std::int64_t count, std::int64_t weight) const {
    return n_log_n(count + weight) - n_log_n(count);
  }
  // H* in units of the fixed point.
  double impurity(Summary<Sum> side) const {
    const double level = side.min + mass / side.n_min;
    const double least = std::max(side.min, 1.0);  // 0 log 0 = 1 log 1
    const double raised = level * math::log(level) - least * math::log(least);
    const Sum sum = filled(static_cast<std::int64_t>(side.n)) - side.sum;
    return (static_cast<double>(sum) - side.n_min * raised * fixed_point.scale) / (side.n + mass);
  }
  double score(Summary<Sum> left, Summary<Sum> right) const {
    return -weighted_entropy(left.n, impurity(left), right.n, impurity(right));
  }
};

}  // namespace hardwood
