// Everything scikit-learn shows of a tree, from what the compact one keeps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hardwood/any_criterion.hpp"
#include "hardwood/tree.hpp"

namespace hardwood {

struct ExpandedTree {
  static constexpr std::int64_t no_child = -1;
  static constexpr std::int64_t no_feature = -2;

  std::vector<std::int64_t> left, right, feature, n_rows;
  std::vector<double> threshold;  // NaN for a split by a set
  std::vector<double> impurity, weight;
  std::vector<double> value;  // [node][class], what the node predicts
  std::vector<double> gain;   // as a share of the data's weight
  std::vector<std::uint8_t> missing_left;
  std::int64_t max_depth = 0;
};

// With `optimal`, nodes predict what the criterion's risk is smallest for, else their class
// proportions; under monotonic constraints within their bounds.
ExpandedTree expand(const Tree& tree, double weight_unit, const CriterionSpec& spec,
                    std::span<const int> monotonic_cst, bool optimal = false);

}  // namespace hardwood
