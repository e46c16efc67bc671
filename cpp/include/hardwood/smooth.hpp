// Smaller and smoother trees inside a grown one, read off its class counts.
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
#include <utility>
#include <vector>

#include "hardwood/bootstrap.hpp"
#include "hardwood/codes.hpp"
#include "hardwood/forest.hpp"
#include "hardwood/parallel.hpp"
#include "hardwood/predict.hpp"
#include "hardwood/prune.hpp"
#include "hardwood/tree.hpp"

namespace hardwood {

struct Smoothings {
  std::span<const std::uint32_t> stops;  // m, ascending
  std::span<const double> shrinkages;    // h

  std::size_t size() const { return stops.size() + shrinkages.size(); }
};

namespace smoothing {

inline constexpr std::size_t kBlockBytes = std::size_t{1} << 18;
inline constexpr std::size_t kTreesAtOnce = 8;

// What the nodes of a tree hold, leaves or not.
struct NodeContents {
  std::vector<double> proportions;  // [node][class]
  std::vector<double> weight;
  std::vector<std::uint32_t> rows;
};

template <class Count>
NodeContents contents(const ForestView<Count>& forest, std::size_t t) {
  const Node* nodes = forest.tree(t);
  const auto n = static_cast<std::size_t>(forest.node_start[t + 1] - forest.node_start[t]);
  const std::size_t n_classes = forest.n_classes;
  NodeContents out{std::vector<double>(n * n_classes, 0), std::vector<double>(n, 0),
                   std::vector<std::uint32_t>(n, 0)};
  for (std::size_t i = n; i-- > 0;) {  // children stand behind their parents
    double* counts = out.proportions.data() + i * n_classes;
    if (nodes[i].is_leaf()) {
      const std::size_t first =
          static_cast<std::size_t>(forest.entry_start[t]) + nodes[i].first_entry();
      for (std::size_t e = first; e < first + nodes[i].n_entries(); ++e)
        counts[forest.entry_label[e]] = static_cast<double>(forest.entry_count[e]);
      out.rows[i] = nodes[i].n_rows();
    } else {
      const std::size_t left = i + 1, right = nodes[i].right();
      for (std::size_t k = 0; k < n_classes; ++k)
        counts[k] = out.proportions[left * n_classes + k] + out.proportions[right * n_classes + k];
      out.rows[i] = out.rows[left] + out.rows[right];
    }
    for (std::size_t k = 0; k < n_classes; ++k) out.weight[i] += counts[k];
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < n_classes; ++k) out.proportions[i * n_classes + k] /= out.weight[i];
  return out;
}

// Calls visit(leaf, predictions) for the leaves below nodes that are wanted, in their order;
// predictions[smoothing][class], stops first. wanted(first, last) tells of the nodes from first to
// before last, a node and all below it, whether any is.
template <class Count, class Wanted, class Visit>
void for_each_leaf(const ForestView<Count>& forest, std::size_t t, const Smoothings& smoothings,
                   const NodeContents& in, const Wanted& wanted, const Visit& visit) {
  const Node* nodes = forest.tree(t);
  const std::size_t n_classes = forest.n_classes;
  const std::size_t n_shrinkages = smoothings.shrinkages.size();
  const std::size_t level_size = n_shrinkages * n_classes;
  std::vector<std::uint32_t> path;  // from the root to the node, by depth
  std::vector<double> shrunk;       // [depth][shrinkage][class]
  std::vector<double> predictions(smoothings.size() * n_classes);
  struct Place {
    std::uint32_t node, last;
    std::size_t depth;
  };
  std::vector<Place> stack{{0, static_cast<std::uint32_t>(in.weight.size()), 0}};
  while (!stack.empty()) {
    const auto [i, last, depth] = stack.back();
    stack.pop_back();
    if (!wanted(i, last)) continue;
    path.resize(depth + 1);
    path[depth] = i;
    if (shrunk.size() < (depth + 1) * level_size) shrunk.resize((depth + 1) * level_size);
    const double* p = in.proportions.data() + i * n_classes;
    double* here = shrunk.data() + depth * level_size;
    for (std::size_t h = 0; h < n_shrinkages; ++h)
      if (depth == 0) {
        std::copy_n(p, n_classes, here + h * n_classes);
      } else {
        const std::uint32_t parent = path[depth - 1];
        const double* parent_p = in.proportions.data() + parent * n_classes;
        const double share = 1 / (1 + smoothings.shrinkages[h] / in.weight[parent]);
        for (std::size_t k = h * n_classes, c = 0; c < n_classes; ++k, ++c)
          here[k] = (here - level_size)[k] + share * (p[c] - parent_p[c]);
      }
    if (!nodes[i].is_leaf()) {
      const std::uint32_t right = nodes[i].right();
      stack.push_back({right, last, depth + 1});
      stack.push_back({i + 1, right, depth + 1});
      continue;
    }
    double* out = predictions.data();
    for (const std::uint32_t m : smoothings.stops) {
      // Rows only get fewer on the way down.
      const auto stop = std::partition_point(
          path.begin(), path.end() - 1, [&](std::uint32_t node) { return in.rows[node] >= m; });
      out = std::copy_n(in.proportions.data() + *stop * n_classes, n_classes, out);
    }
    std::copy_n(here, level_size, out);
    visit(i, predictions);
  }
}

}  // namespace smoothing

// votes[i][smoothing][class] of row rows[i], summed over the trees that it was not drawn for, and
// n_votes[i] of how many. The forest's first tree is number first_tree of those that were drawn.
template <class T, class Count>
void out_of_bag_smoothed(const ForestView<Count>& forest, const MatrixView<T>& X,
                         std::span<const std::uint32_t> rows, const Bootstrap& bootstrap,
                         std::uint64_t seed, std::size_t first_tree, const Smoothings& smoothings,
                         int n_threads, const Poll& poll, std::span<float> votes,
                         std::span<std::int64_t> n_votes) {
  const std::size_t n_trees = forest.n_trees();
  const std::size_t width = smoothings.size() * forest.n_classes;
  std::vector<std::vector<bool>> drawn(n_trees);
  parallel_for(n_trees, n_threads, poll, [&](std::size_t t, const Poll& own_poll) {
    const auto times = bootstrap.draw(seed, first_tree + t);
    drawn[t].resize(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) drawn[t][i] = times[rows[i]] > 0;
    own_poll();
  });
  // A block of rows, whose votes fit in a core's cache, goes through a few trees in turn; what the
  // nodes of these hold is made before. Each row meets the trees in their order, so that sums are
  // the same for any number of threads.
  const std::size_t block_size =
      std::clamp(smoothing::kBlockBytes / (width * sizeof(float)), std::size_t{16}, kMostRows);
  const std::size_t n_blocks = (rows.size() + block_size - 1) / block_size;
  std::vector<smoothing::NodeContents> contents(std::min(smoothing::kTreesAtOnce, n_trees));
  for (std::size_t first = 0; first < n_trees; first += contents.size()) {
    const std::size_t last = std::min(n_trees, first + contents.size());
    parallel_for(last - first, n_threads, poll, [&](std::size_t i, const Poll& own_poll) {
      contents[i] = smoothing::contents(forest, first + i);
      own_poll();
    });
    parallel_for(n_blocks, n_threads, poll, [&](std::size_t block, const Poll& own_poll) {
      const std::size_t begin = block * block_size;
      const std::size_t end = std::min(rows.size(), begin + block_size);
      std::vector<std::uint32_t> out_of_bag;
      std::vector<std::pair<std::uint32_t, std::uint32_t>> by_leaf;  // leaf, row
      std::vector<float> of_leaf(width);
      for (std::size_t t = first; t < last; ++t) {
        own_poll();
        out_of_bag.clear();
        for (std::size_t i = begin; i < end; ++i)
          if (!drawn[t][i]) out_of_bag.push_back(static_cast<std::uint32_t>(i));
        by_leaf.clear();
        for_each_leaf(
            forest.tree(t), X, out_of_bag.size(),
            [&](std::size_t i) { return rows[out_of_bag[i]]; },
            [&](std::size_t, std::uint32_t leaf) {
              by_leaf.emplace_back(leaf, out_of_bag[by_leaf.size()]);
            });
        std::sort(by_leaf.begin(), by_leaf.end());
        // Leaves are visited in their order: the next one wanted is that of the next row.
        auto next = by_leaf.begin();
        smoothing::for_each_leaf(
            forest, t, smoothings, contents[t - first],
            [&](std::uint32_t, std::uint32_t end_node) {
              return next != by_leaf.end() && next->first < end_node;
            },
            [&](std::uint32_t leaf, std::span<const double> predictions) {
              for (std::size_t k = 0; k < width; ++k)
                of_leaf[k] = static_cast<float>(predictions[k]);
              for (; next != by_leaf.end() && next->first == leaf; ++next) {
                float* of_row = votes.data() + next->second * width;
                for (std::size_t k = 0; k < width; ++k) of_row[k] += of_leaf[k];
                ++n_votes[next->second];
              }
            });
      }
    });
  }
}

// The tree that stops at nodes of fewer than min_rows rows.
inline Tree stopped(const Tree& tree, std::size_t min_rows) {
  std::vector<std::size_t> rows(tree.nodes.size());
  std::vector<std::uint32_t> small;
  for (std::size_t i = tree.nodes.size(); i-- > 0;) {
    const Node& node = tree.nodes[i];
    rows[i] = node.is_leaf() ? node.n_rows() : rows[i + 1] + rows[node.right()];
    if (!node.is_leaf() && rows[i] < min_rows) small.push_back(static_cast<std::uint32_t>(i));
  }
  return collapse(tree, small, false);
}

// The tree whose leaves hold their shrunk proportions, times their weight.
template <class Count>
Tree shrunk(const ForestView<Count>& forest, std::size_t t, double shrinkage) {
  Tree out;
  out.n_classes = forest.n_classes;
  const Node* nodes = forest.tree(t);
  const auto in = smoothing::contents(forest, t);
  out.nodes.assign(nodes, nodes + in.weight.size());
  smoothing::for_each_leaf(
      forest, t, {{}, {&shrinkage, 1}}, in, [](std::uint32_t, std::uint32_t) { return true; },
      [&](std::uint32_t leaf, std::span<const double> predictions) {
        const auto first = static_cast<std::uint32_t>(out.entry_label.size());
        for (std::size_t k = 0; k < predictions.size(); ++k) {
          if (!(predictions[k] > 0)) continue;
          out.entry_label.push_back(static_cast<std::uint16_t>(k));
          out.entry_count.push_back(predictions[k] * in.weight[leaf]);
        }
        const auto n_entries = static_cast<std::uint32_t>(out.entry_label.size()) - first;
        out.nodes[leaf] = Node::make_leaf(in.rows[leaf], first, n_entries);
      });
  return out;
}

}  // namespace hardwood
