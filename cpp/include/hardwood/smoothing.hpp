// What smaller and smoother trees inside a grown one predict, read off its class counts.
//
// Two families. "Stop": a node of fewer than m rows is a leaf. "Shrink" (hierarchical shrinkage,
// Agarwal et al., ICML 2022): p̂(node) = p̂(parent) + (p(node) - p(parent)) / (1 + h / n(parent)), p
// the class proportions and n the weight, so that a leaf predicts a mean of the nodes above it.
// Both keep the splits as they are, so one pass over a tree gives what all of them predict.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hardwood/forest.hpp"
#include "hardwood/tree.hpp"

namespace hardwood {

struct Smoothings {
  std::span<const std::uint32_t> stops;  // m, ascending
  std::span<const double> shrinkages;    // h

  std::size_t size() const { return stops.size() + shrinkages.size(); }
};

// What the nodes of a tree hold, leaves or not.
template <class Real>
struct NodeContents {
  std::vector<Real> proportions;  // [node][class]
  std::vector<Real> shares;       // [node][shrinkage], what children keep of their difference
  std::vector<Real> weight;
  std::vector<std::uint32_t> rows;
};

// The nodes of a tree, and the labels and counts of its leaves' entries.
template <class Real>
struct TreeParts {
  std::span<const Node> nodes;
  std::span<const std::uint16_t> entry_label;
  std::vector<Real> entry_count;
};

template <class Real, class Count>
TreeParts<Real> parts_of(const ForestView<Count>& forest, std::size_t t) {
  const auto first = static_cast<std::size_t>(forest.entry_start[t]);
  const auto last = static_cast<std::size_t>(forest.entry_start[t + 1]);
  return {forest.nodes.subspan(
              static_cast<std::size_t>(forest.node_start[t]),
              static_cast<std::size_t>(forest.node_start[t + 1] - forest.node_start[t])),
          forest.entry_label.subspan(first, last - first),
          std::vector<Real>(forest.entry_count.begin() + forest.entry_start[t],
                            forest.entry_count.begin() + forest.entry_start[t + 1])};
}

// Inner nodes' proportions are left out where only leaves are asked for.
template <class Real>
NodeContents<Real> contents_of(const TreeParts<Real>& tree, std::size_t n_classes,
                               std::span<const double> shrinkages, bool only_leaves = false) {
  const std::size_t n = tree.nodes.size();
  NodeContents<Real> out{std::vector<Real>(n * n_classes, 0),
                         std::vector<Real>(n * shrinkages.size()), std::vector<Real>(n, 0),
                         std::vector<std::uint32_t>(n, 0)};
  for (std::size_t i = n; i-- > 0;) {  // children stand behind their parents
    const Node& node = tree.nodes[i];
    Real* __restrict counts = out.proportions.data() + i * n_classes;
    if (node.is_leaf()) {
      const std::size_t first = node.first_entry();
      for (std::size_t e = first; e < first + node.n_entries(); ++e) {
        counts[tree.entry_label[e]] = tree.entry_count[e];
        out.weight[i] += tree.entry_count[e];
      }
      out.rows[i] = node.n_rows();
    } else {
      const std::size_t left = i + 1, right = node.right();
      out.weight[i] = out.weight[left] + out.weight[right];
      out.rows[i] = out.rows[left] + out.rows[right];
      if (only_leaves) continue;
      const Real* __restrict of_left = out.proportions.data() + left * n_classes;
      const Real* __restrict of_right = out.proportions.data() + right * n_classes;
      for (std::size_t k = 0; k < n_classes; ++k) counts[k] = of_left[k] + of_right[k];
    }
  }
  Real* share = out.shares.data();
  for (std::size_t i = 0; i < n; ++i) {
    if (only_leaves && !tree.nodes[i].is_leaf()) continue;
    const Real weight = out.weight[i];
    Real* counts = out.proportions.data() + i * n_classes;
    for (std::size_t k = 0; k < n_classes; ++k) counts[k] /= weight;
    for (const double h : shrinkages) *share++ = static_cast<Real>(1 / (1 + h / weight));
  }
  return out;
}

// Calls visit(leaf, stopped, shrunk) for the leaves below nodes that are wanted, in their order,
// with predictions stopped[stop][class] and shrunk[shrinkage * n_classes + class]. wanted(first,
// last) tells of the nodes from first to before last, a node and all below it, whether any is.
template <class Real, class Wanted, class Visit>
void for_each_smoothed_leaf(const Node* nodes, std::size_t n_classes, const Smoothings& smoothings,
                            const NodeContents<Real>& in, const Wanted& wanted,
                            const Visit& visit) {
  const std::size_t n_shrinkages = smoothings.shrinkages.size();
  const std::size_t level_size = n_shrinkages * n_classes;
  struct Step {
    const Real* p;
    const Real* shares;
    std::uint32_t rows;
  };
  std::vector<Step> path;    // from the root to the node, by depth
  std::vector<Real> shrunk;  // [depth][shrinkage][class]
  std::vector<Real> difference(n_classes);
  std::vector<const Real*> stopped(smoothings.stops.size());
  struct Place {
    std::uint32_t node, last;
    std::size_t depth;
  };
  std::vector<Place> stack{{0, static_cast<std::uint32_t>(in.weight.size()), 0}};
  while (!stack.empty()) {
    const auto [i, last, depth] = stack.back();
    stack.pop_back();
    if (!wanted(i, last)) continue;
    path.resize(depth);
    path.push_back(
        {in.proportions.data() + i * n_classes, in.shares.data() + i * n_shrinkages, in.rows[i]});
    if (shrunk.size() < (depth + 1) * level_size) shrunk.resize((depth + 1) * level_size);
    const Real* p = path[depth].p;
    Real* here = shrunk.data() + depth * level_size;
    if (depth == 0) {
      for (std::size_t h = 0; h < n_shrinkages; ++h)
        std::copy_n(p, n_classes, here + h * n_classes);
    } else {
      const Step& parent = path[depth - 1];
      for (std::size_t c = 0; c < n_classes; ++c) difference[c] = p[c] - parent.p[c];
      const Real* __restrict d = difference.data();
      for (std::size_t h = 0; h < n_shrinkages; ++h) {
        const Real share = parent.shares[h];
        Real* __restrict to = here + h * n_classes;
        const Real* __restrict from = to - level_size;
        for (std::size_t c = 0; c < n_classes; ++c) to[c] = from[c] + share * d[c];
      }
    }
    if (!nodes[i].is_leaf()) {
      const std::uint32_t right = nodes[i].right();
      stack.push_back({right, last, depth + 1});
      stack.push_back({i + 1, right, depth + 1});
      continue;
    }
    std::size_t stop = depth;  // rows only get more on the way up, and m does too
    for (std::size_t s = 0; s < stopped.size(); ++s) {
      while (stop > 0 && path[stop - 1].rows < smoothings.stops[s]) --stop;
      stopped[s] = path[stop].p;
    }
    visit(i, std::span<const Real* const>(stopped), std::span<const Real>(here, level_size));
  }
}

}  // namespace hardwood
