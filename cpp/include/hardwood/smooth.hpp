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

// Inner nodes' proportions are left out where only leaves are asked for.
template <class Real, class Count>
NodeContents<Real> contents(const ForestView<Count>& forest, std::size_t t,
                            std::span<const double> shrinkages, bool only_leaves = false) {
  const Node* nodes = forest.tree(t);
  const auto n = static_cast<std::size_t>(forest.node_start[t + 1] - forest.node_start[t]);
  const std::size_t n_classes = forest.n_classes;
  NodeContents<Real> out{std::vector<Real>(n * n_classes, 0),
                         std::vector<Real>(n * shrinkages.size()), std::vector<Real>(n, 0),
                         std::vector<std::uint32_t>(n, 0)};
  for (std::size_t i = n; i-- > 0;) {  // children stand behind their parents
    Real* __restrict counts = out.proportions.data() + i * n_classes;
    if (nodes[i].is_leaf()) {
      const std::size_t first =
          static_cast<std::size_t>(forest.entry_start[t]) + nodes[i].first_entry();
      for (std::size_t e = first; e < first + nodes[i].n_entries(); ++e) {
        const auto count = static_cast<Real>(forest.entry_count[e]);
        counts[forest.entry_label[e]] = count;
        out.weight[i] += count;
      }
      out.rows[i] = nodes[i].n_rows();
    } else {
      const std::size_t left = i + 1, right = nodes[i].right();
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
    if (only_leaves && !nodes[i].is_leaf()) continue;
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

// Adds to the votes, and returns where the next ones are.
template <class Real>
float* add(const Real* __restrict p, std::size_t n, float* __restrict votes) {
  for (std::size_t i = 0; i < n; ++i) votes[i] += static_cast<float>(p[i]);
  return votes + n;
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
  const std::size_t n_classes = forest.n_classes;
  const std::size_t width = smoothings.size() * n_classes;
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
  // Every node has a row, so that nothing is looked up above the leaves where m = 1 is all.
  const bool only_leaves = smoothings.shrinkages.empty() &&
                           std::ranges::all_of(smoothings.stops, [](auto m) { return m <= 1; });
  std::ranges::fill(n_votes, 0);
  parallel_for(n_parts, n_threads, poll, [&](std::size_t part, const Poll&) {
    std::fill(votes.begin() + votes.size() * part / n_parts,
              votes.begin() + votes.size() * (part + 1) / n_parts, 0.0f);
  });
  for (std::size_t first = 0; first < n_trees; first += contents.size()) {
    const std::size_t last = std::min(n_trees, first + contents.size());
    parallel_for(last - first, n_threads, poll, [&](std::size_t i, const Poll& own_poll) {
      contents[i] =
          smoothing::contents<Real>(forest, first + i, smoothings.shrinkages, only_leaves);
      own_poll();
    });
    parallel_for(n_parts, n_threads, poll, [&](std::size_t part, const Poll& own_poll) {
      const std::size_t begin = rows.size() * part / n_parts;
      const std::size_t end = rows.size() * (part + 1) / n_parts;
      // Where rows arrive, block by block, so that their values stay in the cache as well.
      std::vector<std::vector<std::uint32_t>> out_of_bag(last - first), leaf_of(last - first);
      for (std::size_t block = begin; block < end; block += kMostRows) {
        for (std::size_t t = first; t < last; ++t) {
          std::vector<std::uint32_t>& arrived = out_of_bag[t - first];
          const std::size_t n_before = arrived.size();
          for (std::size_t i = block; i < std::min(end, block + kMostRows); ++i)
            if (!drawn[t][i]) arrived.push_back(static_cast<std::uint32_t>(i));
          for_each_leaf(
              forest.tree(t), X, arrived.size() - n_before,
              [&](std::size_t i) { return rows[arrived[n_before + i]]; },
              [&](std::size_t, std::uint32_t leaf) { leaf_of[t - first].push_back(leaf); });
        }
        own_poll();
      }
      std::vector<std::uint32_t> sorted, starts, places;
      for (std::size_t t = first; t < last; ++t) {
        own_poll();
        const smoothing::NodeContents<Real>& in = contents[t - first];
        // Rows by their leaves: those of leaf i stand in sorted from starts[i] to starts[i + 1].
        starts.assign(in.weight.size() + 1, 0);
        for (const std::uint32_t leaf : leaf_of[t - first]) ++starts[leaf + 1];
        for (std::size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
        places = starts;
        sorted.resize(leaf_of[t - first].size());
        for (std::size_t i = 0; i < sorted.size(); ++i)
          sorted[places[leaf_of[t - first][i]]++] = out_of_bag[t - first][i];
        smoothing::for_each_leaf(
            forest, t, smoothings, in,
            [&](std::uint32_t node, std::uint32_t end_node) {
              return starts[node] < starts[end_node];
            },
            [&](std::uint32_t leaf, std::span<const Real* const> stopped,
                std::span<const Real> shrunk) {
              for (std::uint32_t j = starts[leaf]; j < starts[leaf + 1]; ++j) {
                if (j + 1 < sorted.size())  // those of the next row, while these are added to
                  for (std::size_t i = 0; i < width; i += kCacheLine / sizeof(float))
                    prefetch(votes.data() + sorted[j + 1] * width + i);
                float* of_row = votes.data() + sorted[j] * width;
                for (const Real* p : stopped) of_row = smoothing::add(p, n_classes, of_row);
                smoothing::add(shrunk.data(), shrunk.size(), of_row);
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

// The forest whose leaves hold their shrunk proportions, times their weight.
//
// A leaf then knows all classes that its tree does, but for what rounding takes away: trees are
// written where they will stand if it takes nothing, and gaps are closed in the end.
template <class Count>
Forest shrunk(const ForestView<Count>& forest, double shrinkage, int n_threads, const Poll& poll) {
  const std::size_t n_trees = forest.n_trees();
  std::vector<std::size_t> starts{0};
  for (std::size_t t = 0; t < n_trees; ++t) {
    std::vector<bool> known(forest.n_classes, false);
    for (auto e = forest.entry_start[t]; e < forest.entry_start[t + 1]; ++e)
      known[forest.entry_label[static_cast<std::size_t>(e)]] = true;
    const auto n_nodes = static_cast<std::size_t>(forest.node_start[t + 1] - forest.node_start[t]);
    const auto n_known = static_cast<std::size_t>(std::ranges::count(known, true));
    starts.push_back(starts.back() + (n_nodes + 1) / 2 * n_known);
  }
  Forest out;
  out.nodes.resize(forest.nodes.size());
  out.entry_label.resize(starts.back());
  out.entry_count.resize(starts.back());
  out.node_start.assign(forest.node_start.begin(), forest.node_start.end());
  std::vector<std::size_t> ends(n_trees);
  parallel_for(n_trees, n_threads, poll, [&](std::size_t t, const Poll& own_poll) {
    own_poll();
    const auto in = smoothing::contents<double>(forest, t, {&shrinkage, 1});
    Node* nodes = out.nodes.data() + out.node_start[t];
    std::copy_n(forest.tree(t), in.weight.size(), nodes);
    std::size_t end = starts[t];
    smoothing::for_each_leaf(
        forest, t, {{}, {&shrinkage, 1}}, in, [](std::uint32_t, std::uint32_t) { return true; },
        [&](std::uint32_t leaf, std::span<const double* const>,
            std::span<const double> predictions) {
          const std::size_t first = end;
          for (std::size_t k = 0; k < predictions.size(); ++k) {
            if (!(predictions[k] > 0)) continue;
            out.entry_label[end] = static_cast<std::uint16_t>(k);
            out.entry_count[end++] = predictions[k] * in.weight[leaf];
          }
          nodes[leaf] =
              Node::make_leaf(in.rows[leaf], static_cast<std::uint32_t>(first - starts[t]),
                              static_cast<std::uint32_t>(end - first));
        });
    ends[t] = end;
  });
  std::size_t end = 0;
  for (std::size_t t = 0; t < n_trees; ++t) {
    if (end < starts[t]) {
      const std::size_t n = ends[t] - starts[t];
      std::copy_n(out.entry_label.data() + starts[t], n, out.entry_label.data() + end);
      std::copy_n(out.entry_count.data() + starts[t], n, out.entry_count.data() + end);
    }
    end += ends[t] - starts[t];
    out.entry_start.push_back(static_cast<std::int64_t>(end));
  }
  out.entry_label.resize(end);
  out.entry_count.resize(end);
  return out;
}

// leading[setting][row] of votes[row][setting][class]: the class of most votes, the first of
// equals. Votes of other trees for the same rows, if any, are added to them before.
inline void leading_classes(std::span<const float> votes, std::span<const float> others,
                            std::size_t n_settings, std::size_t n_classes, int n_threads,
                            const Poll& poll, std::span<std::uint16_t> leading) {
  constexpr std::size_t n_at_once = 256;
  const std::size_t width = n_settings * n_classes;
  const std::size_t n_rows = leading.size() / n_settings;
  parallel_for((n_rows + n_at_once - 1) / n_at_once, n_threads, poll,
               [&](std::size_t part, const Poll& own_poll) {
                 own_poll();
                 std::vector<float> of_row(width);
                 const std::size_t last = std::min(n_rows, (part + 1) * n_at_once);
                 for (std::size_t row = part * n_at_once; row < last; ++row) {
                   std::copy_n(votes.data() + row * width, width, of_row.data());
                   if (!others.empty())
                     smoothing::add(others.data() + row * width, width, of_row.data());
                   for (std::size_t s = 0; s < n_settings; ++s) {
                     const auto first = of_row.begin() + static_cast<std::ptrdiff_t>(s * n_classes);
                     const auto best =
                         std::max_element(first, first + static_cast<std::ptrdiff_t>(n_classes));
                     leading[s * n_rows + row] = static_cast<std::uint16_t>(best - first);
                   }
                 }
               });
}

}  // namespace hardwood
