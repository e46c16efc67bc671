// Ranking (Yang, Gao & Li 2019), two classes: |n_L0 n_R1 - n_L1 n_R0| / 2. It scores splits; the
// impurity it rests on is n_0 n_1 / n². Its gain counts pairs and is a share of the square of the
// data's weight.
#pragma once

#include <cmath>

#include "hardwood/criterion.hpp"
#include "hardwood/criterion_record.hpp"

namespace hardwood {

struct Ranking {
  static CriterionRecord record() {
    return {.name = "ranking",
            .class_name = "Ranking",
            .formula = "|n_L0 n_R1 − n_L1 n_R0| / 2",
            .doc =
                "Ranking (Yang, Gao & Li, 2019). Its gain counts pairs of samples, as a share of "
                "the squared weight of the data.",
            .two_classes_only = true,
            .scores_splits = true,
            .why_no_optimal_leaf = "scores splits and is not the impurity of a loss"};
  }

  double total_weight;

  explicit Ranking(const FitContext& context) : total_weight(context.total_weight) {}

  double impurity(Counts node) const {
    return node.n > 0 ? pairs_apart(node) / (2 * node.n * node.n) : 0;
  }

  double score(Counts left, Counts right) const {
    const double apart = std::abs(left.of_class.front() * right.of_class.back() -
                                  left.of_class.back() * right.of_class.front());
    return apart <= kRounding * left.n * right.n ? 0 : apart / 2;
  }
  double gain(Counts, Counts left, Counts right) const { return score(left, right) / total_weight; }
};

}  // namespace hardwood
