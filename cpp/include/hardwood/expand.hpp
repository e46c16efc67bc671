// Everything scikit-learn shows of a tree, from what the compact one keeps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <tuple>
#include <vector>

#include "hardwood/batch.hpp"
#include "hardwood/criteria.hpp"
#include "hardwood/split.hpp"
#include "hardwood/tree.hpp"

namespace hardwood {

struct ExpandedTree {
  static constexpr std::int64_t no_child = -1;
  static constexpr std::int64_t no_feature = -2;

  std::vector<std::int64_t> left, right, feature, n_rows;
  std::vector<double> threshold, impurity, weight;
  std::vector<double> value;  // [node][class], proportions within the monotonic bounds
  std::vector<double> gain;   // as a share of the data's weight
  std::vector<std::uint8_t> missing_left;
  std::int64_t max_depth = 0;
};

inline ExpandedTree expand(const Tree& tree, double weight_unit, CriterionSpec spec,
                           std::span<const int> monotonic_cst) {
  const std::size_t n = tree.nodes.size(), n_classes = tree.n_classes;
  ExpandedTree out;
  for (auto* v : {&out.left, &out.right}) v->assign(n, ExpandedTree::no_child);
  out.feature.assign(n, ExpandedTree::no_feature);
  out.threshold.assign(n, -2);
  out.missing_left.assign(n, 0);
  out.n_rows.assign(n, 0);
  for (auto* v : {&out.impurity, &out.weight, &out.gain}) v->assign(n, 0);
  out.value.assign(n * n_classes, 0);

  auto counts_of = [&](std::size_t node) {
    return std::span<double>(out.value).subspan(node * n_classes, n_classes);
  };
  // Children stand after their parents.
  for (std::size_t i = n; i-- > 0;) {
    const Node& node = tree.nodes[i];
    const auto counts = counts_of(i);
    if (node.is_leaf()) {
      tree.add_leaf_counts(node, counts);
      out.n_rows[i] = node.n_rows();
    } else {
      const std::size_t l = i + 1, r = node.right();
      for (std::size_t k = 0; k < n_classes; ++k) counts[k] = counts_of(l)[k] + counts_of(r)[k];
      out.n_rows[i] = out.n_rows[l] + out.n_rows[r];
      out.left[i] = static_cast<std::int64_t>(l);
      out.right[i] = static_cast<std::int64_t>(r);
      out.feature[i] = node.feature;
      out.threshold[i] = node.threshold;
      out.missing_left[i] = node.missing_left();
    }
    out.weight[i] = std::accumulate(counts.begin(), counts.end(), 0.0);
  }
  const FitContext context{n_classes, out.weight[0], weight_unit};
  with_criterion(spec, context, [&]<class C>(const C& criterion) {
    if constexpr (BatchedCriterion<C>) {
      const std::vector<double> risk = criterion.risks(out.value);
      for (std::size_t i = 0; i < n; ++i) {
        out.impurity[i] = risk[i] / out.weight[i];
        if (!tree.nodes[i].is_leaf())
          out.gain[i] =
              criterion.gain(out.weight[i], risk[i], risk[i + 1], risk[tree.nodes[i].right()]) /
              context.total_weight;
      }
      return;
    }
    auto side = [&](std::size_t node) { return Counts{counts_of(node), out.weight[node]}; };
    for (std::size_t i = 0; i < n; ++i) {
      out.impurity[i] = criterion.impurity(side(i));
      if (!tree.nodes[i].is_leaf())
        out.gain[i] = criterion.gain(side(i), side(i + 1), side(tree.nodes[i].right())) /
                      context.total_weight;
    }
  });
  std::vector<std::int64_t> depth(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    out.max_depth = std::max(out.max_depth, depth[i]);
    if (tree.nodes[i].is_leaf()) continue;
    depth[i + 1] = depth[tree.nodes[i].right()] = depth[i] + 1;
  }
  std::vector<Bounds> bounds(n);
  if (!monotonic_cst.empty())
    for (std::size_t i = 0; i < n; ++i) {
      const Node& node = tree.nodes[i];
      if (node.is_leaf()) continue;
      auto side = [&](std::size_t child) { return Counts{counts_of(child), out.weight[child]}; };
      std::tie(bounds[i + 1], bounds[node.right()]) =
          child_bounds(side(i + 1), side(node.right()),
                       monotonic_cst[static_cast<std::size_t>(node.feature)], bounds[i]);
    }
  for (std::size_t i = 0; i < n; ++i) {
    const auto value = counts_of(i);
    for (double& v : value) v /= out.weight[i];
    if (!monotonic_cst.empty()) {
      value[1] = std::clamp(value[1], bounds[i].low, bounds[i].high);
      value[0] = 1 - value[1];
    }
    out.weight[i] *= weight_unit;
  }
  return out;
}

}  // namespace hardwood
