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
#include <type_traits>
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

// What nodes hold is kept for so many trees at once: 16 MB, or 32 in double precision.
constexpr std::size_t kNumbersAtOnce = std::size_t{1} << 22;
// So many votes of single precision, 8 MB, are added to in turn.
constexpr std::size_t kVotesInCache = std::size_t{1} << 21;

// What the nodes of a tree hold, leaves or not.
template <class Real>
struct NodeContents {
  std::vector<Real> proportions;  // [node][class]
  std::vector<Real> shares;       // [node][shrinkage], what children keep of their difference
  std::vector<Real> weight;
  std::vector<std::uint32_t> rows;
};

template <class Real, class Count>
NodeContents<Real> contents(const ForestView<Count>& forest, std::size_t t,
                            std::span<const double> shrinkages) {
  const Node* nodes = forest.tree(t);
  const auto n = static_cast<std::size_t>(forest.node_start[t + 1] - forest.node_start[t]);
  const std::size_t n_classes = forest.n_classes;
  NodeContents<Real> out{std::vector<Real>(n * n_classes, 0),
                         std::vector<Real>(n * shrinkages.size()), std::vector<Real>(n, 0),
                         std::vector<std::uint32_t>(n, 0)};
  for (std::size_t i = n; i-- > 0;) {  // children stand behind their parents
    Real* counts = out.proportions.data() + i * n_classes;
    if (nodes[i].is_leaf()) {
      const std::size_t first =
          static_cast<std::size_t>(forest.entry_start[t]) + nodes[i].first_entry();
      for (std::size_t e = first; e < first + nodes[i].n_entries(); ++e)
        counts[forest.entry_label[e]] = static_cast<Real>(forest.entry_count[e]);
      out.rows[i] = nodes[i].n_rows();
    } else {
      const std::size_t left = i + 1, right = nodes[i].right();
      for (std::size_t k = 0; k < n_classes; ++k)
        counts[k] = out.proportions[left * n_classes + k] + out.proportions[right * n_classes + k];
      out.rows[i] = out.rows[left] + out.rows[right];
    }
    for (std::size_t k = 0; k < n_classes; ++k) out.weight[i] += counts[k];
  }
  Real* share = out.shares.data();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < n_classes; ++k) out.proportions[i * n_classes + k] /= out.weight[i];
    for (const double h : shrinkages) *share++ = static_cast<Real>(1 / (1 + h / out.weight[i]));
  }
  return out;
}

// Calls visit(leaf, stopped, shrunk) for the leaves below nodes that are wanted, in their order,
// with predictions [stop][class] and [shrinkage][class]. wanted(first, last) tells of the nodes
// from first to before last, a node and all below it, whether any is.
template <class Real, class Count, class Wanted, class Visit>
void for_each_leaf(const ForestView<Count>& forest, std::size_t t, const Smoothings& smoothings,
                   const NodeContents<Real>& in, const Wanted& wanted, const Visit& visit) {
  const Node* nodes = forest.tree(t);
  const std::size_t n_classes = forest.n_classes;
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
  std::vector<Real> stopped(smoothings.stops.size() * n_classes);
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
    Real* out = stopped.data();
    std::size_t stop = depth;  // rows only get more on the way up, and m does too
    for (const std::uint32_t m : smoothings.stops) {
      while (stop > 0 && path[stop - 1].rows < m) --stop;
      out = std::copy_n(path[stop].p, n_classes, out);
    }
    visit(i, std::span<const Real>(stopped), std::span<const Real>(here, level_size));
  }
}

}  // namespace smoothing

// votes[i][smoothing][class] of row rows[i], summed over the trees that it was not drawn for, and
// n_votes[i] of how many, whatever they held before. The forest's first tree is number first_tree
// of those that were drawn.
template <class T, class Count>
void out_of_bag_smoothed(const ForestView<Count>& forest, const MatrixView<T>& X,
                         std::span<const std::uint32_t> rows, const Bootstrap& bootstrap,
                         std::uint64_t seed, std::size_t first_tree, const Smoothings& smoothings,
                         int n_threads, const Poll& poll, std::span<float> votes,
                         std::span<std::int64_t> n_votes) {
  // Real weights may be of any size; whole counts are not.
  using Real = std::conditional_t<std::is_floating_point_v<Count>, double, float>;
  const std::size_t n_trees = forest.n_trees();
  const std::size_t width = smoothings.size() * forest.n_classes;
  std::vector<std::vector<bool>> drawn(n_trees);
  parallel_for(n_trees, n_threads, poll, [&](std::size_t t, const Poll& own_poll) {
    const auto times = bootstrap.draw(seed, first_tree + t);
    drawn[t].resize(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) drawn[t][i] = times[rows[i]] > 0;
    own_poll();
  });
  // A part of the rows, whose votes stay in the cache, goes through all trees in turn, so that sums
  // have one order. What the nodes hold is the same for all parts: made before, for as many trees
  // as there are threads, and for more where they are small.
  const auto n_workers = static_cast<std::size_t>(std::max(1, n_threads));
  const std::size_t n_in_cache = smoothing::kVotesInCache / width + 1;
  const std::size_t n_parts = std::max(n_workers, rows.size() / n_in_cache);
  const std::size_t n_numbers =
      forest.nodes.size() * (forest.n_classes + smoothings.shrinkages.size() + 2);
  const std::size_t n_small = n_trees * smoothing::kNumbersAtOnce / (n_numbers + 1);
  std::vector<smoothing::NodeContents<Real>> contents(
      std::min(std::max(n_workers, n_small), n_trees));
  std::ranges::fill(n_votes, 0);
  parallel_for(n_parts, n_threads, poll, [&](std::size_t part, const Poll&) {
    std::fill(votes.begin() + votes.size() * part / n_parts,
              votes.begin() + votes.size() * (part + 1) / n_parts, 0.0f);
  });
  for (std::size_t first = 0; first < n_trees; first += contents.size()) {
    const std::size_t last = std::min(n_trees, first + contents.size());
    parallel_for(last - first, n_threads, poll, [&](std::size_t i, const Poll& own_poll) {
      contents[i] = smoothing::contents<Real>(forest, first + i, smoothings.shrinkages);
      own_poll();
    });
    parallel_for(n_parts, n_threads, poll, [&](std::size_t part, const Poll& own_poll) {
      const std::size_t begin = rows.size() * part / n_parts;
      const std::size_t end = rows.size() * (part + 1) / n_parts;
      std::vector<std::uint32_t> out_of_bag, leaf_of, sorted, starts, places;
      for (std::size_t t = first; t < last; ++t) {
        own_poll();
        const smoothing::NodeContents<Real>& in = contents[t - first];
        out_of_bag.clear();
        for (std::size_t i = begin; i < end; ++i)
          if (!drawn[t][i]) out_of_bag.push_back(static_cast<std::uint32_t>(i));
        leaf_of.clear();
        for (std::size_t block = 0; block < out_of_bag.size(); block += kMostRows)
          for_each_leaf(
              forest.tree(t), X, std::min(kMostRows, out_of_bag.size() - block),
              [&](std::size_t i) { return rows[out_of_bag[block + i]]; },
              [&](std::size_t, std::uint32_t leaf) { leaf_of.push_back(leaf); });
        // Rows by their leaves: those of leaf i stand in sorted from starts[i] to starts[i + 1].
        starts.assign(in.weight.size() + 1, 0);
        for (const std::uint32_t leaf : leaf_of) ++starts[leaf + 1];
        for (std::size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
        places = starts;
        sorted.resize(out_of_bag.size());
        for (std::size_t i = 0; i < out_of_bag.size(); ++i)
          sorted[places[leaf_of[i]]++] = out_of_bag[i];
        smoothing::for_each_leaf(
            forest, t, smoothings, in,
            [&](std::uint32_t node, std::uint32_t end_node) {
              return starts[node] < starts[end_node];
            },
            [&](std::uint32_t leaf, std::span<const Real> stopped, std::span<const Real> shrunk) {
              for (std::uint32_t j = starts[leaf]; j < starts[leaf + 1]; ++j) {
                float* of_row = votes.data() + sorted[j] * width;
                for (const Real p : stopped) *of_row++ += static_cast<float>(p);
                for (const Real p : shrunk) *of_row++ += static_cast<float>(p);
                ++n_votes[sorted[j]];
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
  const auto in = smoothing::contents<double>(forest, t, {&shrinkage, 1});
  out.nodes.assign(nodes, nodes + in.weight.size());
  const auto root = std::span(in.proportions).first(forest.n_classes);
  const auto n_known = static_cast<std::size_t>(
      std::count_if(root.begin(), root.end(), [](double p) { return p > 0; }));
  const std::size_t n_leaves = (in.weight.size() + 1) / 2;
  out.entry_label.reserve(n_leaves * n_known);
  out.entry_count.reserve(n_leaves * n_known);
  smoothing::for_each_leaf(
      forest, t, {{}, {&shrinkage, 1}}, in, [](std::uint32_t, std::uint32_t) { return true; },
      [&](std::uint32_t leaf, std::span<const double>, std::span<const double> predictions) {
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
