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
#include "hardwood/gather.hpp"
#include "hardwood/parallel.hpp"
#include "hardwood/tree.hpp"

namespace hardwood {

inline constexpr std::size_t kMostRows = 512;

// The child that a value goes to, without a branch to mispredict.
template <class T>
std::uint32_t child_of(const Node& node, std::uint32_t number, T value) {
  const bool goes_left =
      (static_cast<double>(value) <= node.threshold) | ((value != value) & node.missing_left());
  const std::uint32_t left = 0u - goes_left;
  return ((number + 1) & left) | (node.right() & ~left);
}

// Calls visit(row, leaf's node number) for the rows row_of(0) … row_of(n - 1), n <= kMostRows.
//
// All of them go down one step at a time, and those that have arrived leave the list: no step
// waits for another row's, and no branch depends on where a row goes.
template <class T, class RowOf, class Visit>
void for_each_leaf(const Node* nodes, const MatrixView<T>& X, std::size_t n, const RowOf& row_of,
                   const Visit& visit) {
  struct Walker {
    const T* row;
    std::uint32_t at;
    std::uint32_t number;
  };
  std::array<Walker, kMostRows> walkers;
  std::array<std::uint32_t, kMostRows> leaf_of;
  for (std::size_t i = 0; i < n; ++i)
    walkers[i] = {X.data + static_cast<std::ptrdiff_t>(row_of(i)) * X.row_stride, 0,
                  static_cast<std::uint32_t>(i)};
  for (std::size_t walking = n; walking > 0;) {
    std::size_t still_walking = 0;
    for (std::size_t j = 0; j < walking; ++j) {
      const Walker walker = walkers[j];
      const Node& node = nodes[walker.at];
      leaf_of[walker.number] = walker.at;
      const std::int32_t feature = std::max(node.feature, 0);
      const std::uint32_t child = child_of(node, walker.at, walker.row[feature * X.column_stride]);
      prefetch(nodes + child);
      walkers[still_walking] = {walker.row, child, walker.number};
      still_walking += !node.is_leaf();
    }
    walking = still_walking;
  }
  for (std::size_t i = 0; i < n; ++i) visit(row_of(i), leaf_of[i]);
}

// Blocks of rows that stay in the cache while all trees look at them.
template <class T, class Task>
void for_each_block(const MatrixView<T>& X, int n_threads, const Poll& poll, const Task& task) {
  constexpr std::size_t bytes = 1 << 19;
  const std::size_t size =
      std::clamp<std::size_t>(bytes / (X.n_columns * sizeof(T)), 64, kMostRows);
  parallel_for((X.n_rows + size - 1) / size, n_threads, poll,
               [&](std::size_t block, const Poll& own_poll) {
                 task(block * size, std::min(X.n_rows, (block + 1) * size));
                 own_poll();
               });
}

// leaves[row][tree]: node numbers within the trees.
template <class T, class Count>
void apply(const ForestView<Count>& forest, const MatrixView<T>& X, int n_threads, const Poll& poll,
           std::span<std::int64_t> leaves) {
  const std::size_t n_trees = forest.n_trees();
  for_each_block(X, n_threads, poll, [&](std::size_t first, std::size_t last) {
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
  for_each_block(X, n_threads, poll, [&](std::size_t first, std::size_t last) {
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
  for_each_block(X, n_threads, poll, [&](std::size_t first, std::size_t last) {
    std::array<std::size_t, kMostRows> rows;
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
