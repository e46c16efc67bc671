// Where rows end up, and what the forest makes of them.
//
// Values are compared in their own precision; a missing one (NaN) goes where its node says. Several
// rows walk down a tree side by side, so that while one waits for memory the others go on, and rows
// are taken in blocks that stay in the cache while all trees look at them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hardwood/bootstrap.hpp"
#include "hardwood/codes.hpp"
#include "hardwood/forest.hpp"
#include "hardwood/parallel.hpp"
#include "hardwood/tree.hpp"

namespace hardwood {

template <class T>
std::uint32_t step(const Node* nodes, std::uint32_t i, const MatrixView<T>& X, std::size_t row) {
  const Node& node = nodes[i];
  const double value = static_cast<double>(X.at(row, static_cast<std::size_t>(node.feature)));
  const bool left = std::isnan(value) ? node.missing_left() : value <= node.threshold;
  return left ? i + 1 : node.right();
}

// Calls visit(row, leaf's node number) for the rows row_of(0) … row_of(n - 1).
template <class T, class RowOf, class Visit>
void for_each_leaf(const Node* nodes, const MatrixView<T>& X, std::size_t n, const RowOf& row_of,
                   const Visit& visit) {
  constexpr std::size_t side_by_side = 8;
  std::array<std::uint32_t, side_by_side> at;
  std::size_t i = 0;
  for (; i + side_by_side <= n; i += side_by_side) {
    at.fill(0);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t j = 0; j < side_by_side; ++j) {
        if (nodes[at[j]].is_leaf()) continue;
        at[j] = step(nodes, at[j], X, row_of(i + j));
        moved = true;
      }
    }
    for (std::size_t j = 0; j < side_by_side; ++j) visit(row_of(i + j), at[j]);
  }
  for (; i < n; ++i) {
    std::uint32_t node = 0;
    while (!nodes[node].is_leaf()) node = step(nodes, node, X, row_of(i));
    visit(row_of(i), node);
  }
}

inline constexpr std::size_t kRowBlock = 512;

template <class Task>
void for_each_block(std::size_t n_rows, int n_threads, const Poll& poll, const Task& task) {
  parallel_for((n_rows + kRowBlock - 1) / kRowBlock, n_threads, poll,
               [&](std::size_t block, const Poll& own_poll) {
                 task(block * kRowBlock, std::min(n_rows, (block + 1) * kRowBlock));
                 own_poll();
               });
}

// leaves[row][tree]: node numbers within the trees.
template <class T, class Count>
void apply(const ForestView<Count>& forest, const MatrixView<T>& X, int n_threads, const Poll& poll,
           std::span<std::int64_t> leaves) {
  const std::size_t n_trees = forest.n_trees();
  for_each_block(X.n_rows, n_threads, poll, [&](std::size_t first, std::size_t last) {
    for (std::size_t t = 0; t < n_trees; ++t)
      for_each_leaf(
          forest.tree(t), X, last - first, [&](std::size_t i) { return first + i; },
          [&](std::size_t row, std::uint32_t leaf) { leaves[row * n_trees + t] = leaf; });
  });
}

// Adds the leaf's class proportions.
template <class Count>
void add_proportions(const ForestView<Count>& forest, std::size_t tree, const Node& leaf,
                     double* out) {
  const std::size_t first = static_cast<std::size_t>(forest.entry_start[tree]) + leaf.first_entry();
  const std::uint32_t n = leaf.n_entries();
  if (n == 1) {
    out[forest.entry_label[first]] += 1;
    return;
  }
  double total = 0;
  for (std::size_t e = first; e < first + n; ++e)
    total += static_cast<double>(forest.entry_count[e]);
  for (std::size_t e = first; e < first + n; ++e)
    out[forest.entry_label[e]] += static_cast<double>(forest.entry_count[e]) / total;
}

// proba[row][class]: the average of the leaves' class proportions, trees added in their order.
template <class T, class Count>
void predict_proba(const ForestView<Count>& forest, const MatrixView<T>& X, int n_threads,
                   const Poll& poll, std::span<double> proba) {
  const std::size_t n_classes = forest.n_classes;
  for_each_block(X.n_rows, n_threads, poll, [&](std::size_t first, std::size_t last) {
    for (std::size_t t = 0; t < forest.n_trees(); ++t) {
      const Node* nodes = forest.tree(t);
      for_each_leaf(
          nodes, X, last - first, [&](std::size_t i) { return first + i; },
          [&](std::size_t row, std::uint32_t leaf) {
            add_proportions(forest, t, nodes[leaf], proba.data() + row * n_classes);
          });
    }
    const auto n_trees = static_cast<double>(forest.n_trees());
    for (std::size_t i = first * n_classes; i < last * n_classes; ++i) proba[i] /= n_trees;
  });
}

// The same from the trees alone that a row was not drawn for: votes[row][class] are sums, and
// n_votes[row] tells of how many trees.
template <class T, class Count>
void out_of_bag_votes(const ForestView<Count>& forest, const MatrixView<T>& X,
                      const Bootstrap& bootstrap, std::uint64_t seed, int n_threads,
                      const Poll& poll, std::span<double> votes, std::span<std::int64_t> n_votes) {
  const std::size_t n_trees = forest.n_trees(), n_classes = forest.n_classes;
  std::vector<std::vector<bool>> drawn(n_trees);
  parallel_for(n_trees, n_threads, poll, [&](std::size_t t, const Poll& own_poll) {
    const auto times = bootstrap.draw(seed, t);
    drawn[t].resize(times.size());
    for (std::size_t i = 0; i < times.size(); ++i) drawn[t][i] = times[i] > 0;
    own_poll();
  });
  for_each_block(X.n_rows, n_threads, poll, [&](std::size_t first, std::size_t last) {
    std::array<std::size_t, kRowBlock> rows;
    for (std::size_t t = 0; t < n_trees; ++t) {
      std::size_t n = 0;
      for (std::size_t row = first; row < last; ++row)
        if (!drawn[t][row]) rows[n++] = row;
      const Node* nodes = forest.tree(t);
      for_each_leaf(
          nodes, X, n, [&](std::size_t i) { return rows[i]; },
          [&](std::size_t row, std::uint32_t leaf) {
            add_proportions(forest, t, nodes[leaf], votes.data() + row * n_classes);
            ++n_votes[row];
          });
    }
  });
}

}  // namespace hardwood
