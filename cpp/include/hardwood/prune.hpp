// Minimal cost-complexity pruning (Breiman et al. 1984), from the gains of the splits.
//
// Collapsing node t gives back the gains of all splits below it and saves all leaves but one, so
// its effective alpha is Σ gain / (leaves - 1); the weakest link has the smallest. For impurities
// this is the usual definition; for criteria that score splits it is the one their gains allow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <queue>
#include <span>
#include <vector>

#include "hardwood/tree.hpp"

namespace hardwood {

struct PruningPath {
  std::vector<double> alphas;       // effective alpha of each collapse, in order
  std::vector<double> gains;        // what the splits still there gain, after each collapse
  std::vector<std::uint32_t> node;  // collapsed
};

// Collapses weakest links while their alpha is at most max_alpha.
inline PruningPath pruning_path(const Tree& tree, std::span<const double> gain, double max_alpha) {
  const std::size_t n = tree.nodes.size();
  std::vector<double> below(gain.begin(), gain.end());  // Σ gain of the splits at and below a node
  std::vector<std::uint32_t> leaves(n, 1), parent(n, kNobody);
  for (std::size_t i = n; i-- > 0;) {
    if (tree.nodes[i].is_leaf()) continue;
    const std::uint32_t l = static_cast<std::uint32_t>(i + 1), r = tree.nodes[i].right();
    below[i] += below[l] + below[r];
    leaves[i] = leaves[l] + leaves[r];
    parent[l] = parent[r] = static_cast<std::uint32_t>(i);
  }
  struct Link {
    double alpha;
    std::uint32_t node;
    std::uint32_t leaves;  // when it was queued; since changed: out of date
    bool operator>(const Link& other) const {
      return alpha != other.alpha ? alpha > other.alpha : node > other.node;
    }
  };
  std::priority_queue<Link, std::vector<Link>, std::greater<>> queue;
  auto push = [&](std::uint32_t i) { queue.push({below[i] / (leaves[i] - 1), i, leaves[i]}); };
  for (std::uint32_t i = 0; i < n; ++i)
    if (!tree.nodes[i].is_leaf()) push(i);

  std::vector<bool> gone(n, false);
  auto inside_collapsed = [&](std::uint32_t i) {
    for (; i != kNobody; i = parent[i])
      if (gone[i]) return true;
    return false;
  };
  PruningPath path;
  while (!queue.empty()) {
    const Link link = queue.top();
    queue.pop();
    if (link.leaves != leaves[link.node] || inside_collapsed(link.node)) continue;
    if (link.alpha > max_alpha) break;
    gone[link.node] = true;
    const double gained = below[link.node];
    const std::uint32_t saved = leaves[link.node] - 1;
    for (std::uint32_t i = link.node; i != kNobody; i = parent[i]) {
      below[i] -= gained;
      leaves[i] -= saved;
      if (i != link.node) push(i);
    }
    path.alphas.push_back(link.alpha);
    path.gains.push_back(below[0]);
    path.node.push_back(link.node);
  }
  return path;
}

// The tree with the given nodes made leaves.
inline Tree collapse(const Tree& tree, std::span<const std::uint32_t> nodes, bool all_classes) {
  std::vector<bool> stop(tree.nodes.size(), false);
  for (const std::uint32_t node : nodes) stop[node] = true;
  Tree out;
  out.n_classes = tree.n_classes;
  struct Place {
    std::uint32_t node, right_of;
  };
  std::vector<Place> stack{{0, kNobody}};
  while (!stack.empty()) {
    const auto [i, right_of] = stack.back();
    stack.pop_back();
    const Node& node = tree.nodes[i];
    if (!node.is_leaf() && !stop[i]) {
      const Node split{node.threshold, node.feature, node.child & Node::missing_left_bit};
      const std::uint32_t here = node.is_set() ? out.add_set(split, tree.words_of(node), right_of)
                                               : out.add(split, right_of);
      stack.push_back({node.right(), here});
      stack.push_back({i + 1, kNobody});
      continue;
    }
    // All leaves of the subtree, which stands from here to its rightmost leaf.
    std::vector<double> counts(tree.n_classes, 0);
    std::size_t n_rows = 0;
    std::uint32_t last = i;
    while (!tree.nodes[last].is_leaf()) last = tree.nodes[last].right();
    for (std::uint32_t j = i; j <= last; ++j) {
      if (!tree.nodes[j].is_leaf()) continue;
      tree.add_leaf_counts(tree.nodes[j], counts);
      n_rows += tree.nodes[j].n_rows();
    }
    out.add_leaf(counts, n_rows, right_of, all_classes);
  }
  return out;
}

}  // namespace hardwood
