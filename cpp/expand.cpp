#include "hardwood/expand.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <tuple>

#include "hardwood/cut.hpp"

namespace hardwood {

ExpandedTree expand(const Tree& tree, double weight_unit, const CriterionSpec& spec,
                    std::span<const int> monotonic_cst, bool optimal) {
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
      out.feature[i] = node.column();
      out.threshold[i] = node.is_set() ? std::numeric_limits<double>::quiet_NaN() : node.threshold;
      out.missing_left[i] = node.missing_left();
    }
    out.weight[i] = std::accumulate(counts.begin(), counts.end(), 0.0);
  }
  auto side = [&](std::size_t node) { return Counts{counts_of(node), out.weight[node]}; };
  const double total_weight = out.weight[0];
  const auto criterion = make_criterion(spec, {n_classes, total_weight, weight_unit, false});
  std::vector<Counts> nodes;
  std::vector<SplitNumbers> splits;
  for (std::size_t i = 0; i < n; ++i) {
    nodes.push_back(side(i));
    if (!tree.nodes[i].is_leaf()) splits.push_back({i, i + 1, tree.nodes[i].right()});
  }
  std::vector<double> gains(splits.size());
  criterion->describe(nodes, splits, out.impurity, gains);
  for (std::size_t j = 0; j < splits.size(); ++j)
    out.gain[splits[j].parent] = gains[j] / total_weight;
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
      std::tie(bounds[i + 1], bounds[node.right()]) =
          child_bounds(side(i + 1), side(node.right()), monotonic_cst[node.column()], bounds[i]);
    }
  for (std::size_t i = 0; i < n; ++i) {
    const auto value = counts_of(i);
    double sum = out.weight[i];
    auto normalise = [&] {
      for (double& v : value) v /= sum;
    };
    if (!monotonic_cst.empty()) {
      normalise();
      value[1] = std::clamp(value[1], bounds[i].low, bounds[i].high);
      value[0] = 1 - value[1];
      sum = 1;
    }
    if (optimal) {
      criterion->predict_optimally(value);
      sum = std::accumulate(value.begin(), value.end(), 0.0);
    }
    normalise();
    out.weight[i] *= weight_unit;
  }
  return out;
}

}  // namespace hardwood
