// An impurity that is a function of the caller's, for any number of classes.
//
// A call of the function costs far more than what it computes for one node, so it takes many rows
// of class proportions at once: a scan asks it once for all cuts of a feature (CountScan).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "hardwood/any_criterion.hpp"
#include "hardwood/criterion.hpp"
#include "hardwood/criterion_record.hpp"

namespace hardwood {

struct CustomImpurity {
  static CriterionRecord record() {
    return {.name = "custom_impurity",
            .class_name = "",
            .formula = "",
            .doc = "A function of class proportions.",
            .parameters = {{.name = "precision",
                            .default_value = 0,
                            .doc = "That of the function, if it is less than double precision.",
                            .low = 0,
                            .high = 1}},
            .why_no_optimal_leaf = "has a known impurity, but not the loss behind it"};
  }

  CustomImpurity(const FitContext& context, double precision, const ImpurityFunction& function)
      : function_(&function), n_classes_(context.n_classes), rounding_(1e-15 + 2 * precision) {
    const std::vector<double> even(n_classes_, 1 / static_cast<double>(n_classes_));
    function(even, n_classes_, {&of_even_, 1});
  }

  // n × impurity of many nodes, whose class counts stand one after the other.
  std::vector<double> risks(std::span<const double> counts) const {
    const std::size_t n_nodes = counts.size() / n_classes_;
    std::vector<double> n(n_nodes, 0), p(counts.begin(), counts.end()), out(n_nodes);
    for (std::size_t i = 0; i < n_nodes; ++i) {
      for (std::size_t k = 0; k < n_classes_; ++k) n[i] += counts[i * n_classes_ + k];
      for (std::size_t k = 0; k < n_classes_; ++k) p[i * n_classes_ + k] /= n[i];
    }
    (*function_)(p, n_classes_, out);
    for (std::size_t i = 0; i < n_nodes; ++i) out[i] *= n[i];
    return out;
  }

  double impurity(Counts node) const { return risks(node.of_class)[0] / node.n; }
  double score(Counts left, Counts right) const {
    const auto of = risks(together({left, right}));
    return -(of[0] + of[1]);
  }
  double gain(Counts parent, Counts left, Counts right) const {
    const auto of = risks(together({parent, left, right}));
    return gain(parent.n, of[0], of[1], of[2]);
  }

  // What a split gains, given the risks. The function rounds at the scale of the largest impurity,
  // even where the impurity is small: 1 - max p does.
  double gain(double n, double before, double of_left, double of_right) const {
    const double gain = before - (of_left + of_right);
    return gain > kRounding * before + rounding_ * n * of_even_ ? gain : 0;
  }

 private:
  std::vector<double> together(std::initializer_list<Counts> sides) const {
    std::vector<double> counts;
    for (const Counts& side : sides)
      counts.insert(counts.end(), side.of_class.begin(), side.of_class.end());
    return counts;
  }

  const ImpurityFunction* function_;
  std::size_t n_classes_;
  double rounding_;  // of the function
  double of_even_ = 0;
};

}  // namespace hardwood
