#include "hardwood/smoothing.hpp"

#include <algorithm>
#include <functional>
#include <type_traits>
#include <vector>

#include "hardwood/codes.hpp"
#include "hardwood/gather.hpp"
#include "hardwood/prune.hpp"
#include "hardwood/smoothed_trees.hpp"
#include "hardwood/smoothed_votes.hpp"

namespace hardwood {
namespace {

// What nodes hold is kept for so many trees at once: 16 MB, or 32 in double precision.
constexpr std::size_t kNumbersAtOnce = std::size_t{1} << 22;
// So many votes of single precision, 8 MB, are added to in turn.
constexpr std::size_t kVotesInCache = std::size_t{1} << 21;

// Adds to the votes, and returns where the next ones are.
template <class Real>
float* add(const Real* __restrict p, std::size_t n, float* __restrict votes) {
  for (std::size_t i = 0; i < n; ++i) votes[i] += static_cast<float>(p[i]);
  return votes + n;
}

// The same for numbers of either precision, whatever the type of the counts.
template <class Real>
void out_of_bag_smoothed(std::span<const Node> nodes, std::span<const std::int64_t> node_start,
                         const SetWords& sets,
                         const std::function<TreeParts<Real>(std::size_t)>& parts_of_tree,
                         std::size_t n_classes, const Rows& rows,
                         std::span<const std::uint32_t> chosen, const Bootstrap& bootstrap,
                         std::uint64_t seed, std::size_t first_tree, const Smoothings& smoothings,
                         int n_threads, const Poll& poll, std::span<float> votes,
                         std::span<std::int64_t> n_votes) {
  const std::size_t n_trees = node_start.size() - 1;
  const std::size_t width = smoothings.size() * n_classes;
  const auto drawn = bootstrap.drawn(seed, first_tree, n_trees, chosen, n_threads, poll);
  // A part of the rows, whose votes stay in the cache, goes through all trees in turn, so that sums
  // have one order. What the nodes hold is the same for all parts: made before, for as many trees
  // as there are threads, and for more where they are small.
  const auto n_workers = static_cast<std::size_t>(std::max(1, n_threads));
  const std::size_t n_in_cache = kVotesInCache / width + 1;
  const std::size_t n_parts = std::max(n_workers, chosen.size() / n_in_cache);
  const std::size_t n_numbers = nodes.size() * (n_classes + smoothings.shrinkages.size() + 2);
  const std::size_t n_small = n_trees * kNumbersAtOnce / (n_numbers + 1);
  std::vector<NodeContents<Real>> contents(std::min(std::max(n_workers, n_small), n_trees));
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
          contents_of(parts_of_tree(first + i), n_classes, smoothings.shrinkages, only_leaves);
      own_poll();
    });
    parallel_for(n_parts, n_threads, poll, [&](std::size_t part, const Poll& own_poll) {
      const std::size_t begin = chosen.size() * part / n_parts;
      const std::size_t end = chosen.size() * (part + 1) / n_parts;
      // Where rows arrive, block by block, so that their values stay in the cache as well.
      std::vector<std::vector<std::uint32_t>> out_of_bag(last - first), leaf_of(last - first);
      std::vector<std::uint32_t> walking;
      for (std::size_t block = begin; block < end; block += kMostRows) {
        for (std::size_t t = first; t < last; ++t) {
          walking.clear();
          for (std::size_t i = block; i < std::min(end, block + kMostRows); ++i)
            if (!drawn[t][i]) {
              out_of_bag[t - first].push_back(static_cast<std::uint32_t>(i));
              walking.push_back(chosen[i]);
            }
          std::vector<std::uint32_t>& leaves = leaf_of[t - first];
          leaves.resize(out_of_bag[t - first].size());
          rows.find_leaves({nodes.data() + node_start[t], sets.of_tree(t)}, walking,
                           leaves.data() + leaves.size() - walking.size());
        }
        own_poll();
      }
      std::vector<std::uint32_t> sorted, starts, places;
      for (std::size_t t = first; t < last; ++t) {
        own_poll();
        const NodeContents<Real>& in = contents[t - first];
        // Rows by their leaves: those of leaf i stand in sorted from starts[i] to starts[i + 1].
        starts.assign(in.weight.size() + 1, 0);
        for (const std::uint32_t leaf : leaf_of[t - first]) ++starts[leaf + 1];
        for (std::size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
        places = starts;
        sorted.resize(leaf_of[t - first].size());
        for (std::size_t i = 0; i < sorted.size(); ++i)
          sorted[places[leaf_of[t - first][i]]++] = out_of_bag[t - first][i];
        for_each_smoothed_leaf(
            nodes.data() + node_start[t], n_classes, smoothings, in,
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
                for (const Real* p : stopped) of_row = add(p, n_classes, of_row);
                add(shrunk.data(), shrunk.size(), of_row);
                ++n_votes[sorted[j]];
              }
            });
      }
    });
  }
}

}  // namespace

template <class Count>
void out_of_bag_smoothed(const ForestView<Count>& forest, const Rows& rows,
                         std::span<const std::uint32_t> chosen, const Bootstrap& bootstrap,
                         std::uint64_t seed, std::size_t first_tree, const Smoothings& smoothings,
                         int n_threads, const Poll& poll, std::span<float> votes,
                         std::span<std::int64_t> n_votes) {
  // Real weights may be of any size; whole counts are not.
  using Real = std::conditional_t<std::is_floating_point_v<Count>, double, float>;
  out_of_bag_smoothed<Real>(
      forest.nodes, forest.node_start, forest.sets,
      [&](std::size_t t) { return parts_of<Real>(forest, t); }, forest.n_classes, rows, chosen,
      bootstrap, seed, first_tree, smoothings, n_threads, poll, votes, n_votes);
}

void leading_classes(std::span<const float> votes, std::span<const float> others,
                     std::size_t n_settings, std::size_t n_classes, int n_threads, const Poll& poll,
                     std::span<std::uint16_t> leading) {
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
                   if (!others.empty()) add(others.data() + row * width, width, of_row.data());
                   for (std::size_t s = 0; s < n_settings; ++s) {
                     const auto first = of_row.begin() + static_cast<std::ptrdiff_t>(s * n_classes);
                     const auto best =
                         std::max_element(first, first + static_cast<std::ptrdiff_t>(n_classes));
                     leading[s * n_rows + row] = static_cast<std::uint16_t>(best - first);
                   }
                 }
               });
}

Tree stopped(const Tree& tree, std::size_t min_rows) {
  std::vector<std::size_t> rows(tree.nodes.size());
  std::vector<std::uint32_t> small;
  for (std::size_t i = tree.nodes.size(); i-- > 0;) {
    const Node& node = tree.nodes[i];
    rows[i] = node.is_leaf() ? node.n_rows() : rows[i + 1] + rows[node.right()];
    if (!node.is_leaf() && rows[i] < min_rows) small.push_back(static_cast<std::uint32_t>(i));
  }
  return collapse(tree, small, false);
}

// A shrunk leaf knows all classes that its tree does, but for what rounding takes away: trees are
// written where they will stand if it takes nothing, and gaps are closed in the end.
template <class Count>
Forest shrunk(const ForestView<Count>& forest, std::span<const double> shrinkages, int n_threads,
              const Poll& poll) {
  const std::size_t n_trees = forest.n_trees();
  std::vector<std::size_t> starts{0};
  for (std::size_t t = 0; t < n_trees; ++t) {
    if (shrinkages[t] == 0) {
      const auto n_entries = forest.entry_start[t + 1] - forest.entry_start[t];
      starts.push_back(starts.back() + static_cast<std::size_t>(n_entries));
      continue;
    }
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
  out.set_words.assign(forest.sets.words.begin(), forest.sets.words.end());
  out.set_start.resize(n_trees + 1, 0);
  std::ranges::copy(forest.sets.start, out.set_start.begin());
  std::vector<std::size_t> ends(n_trees);
  parallel_for(n_trees, n_threads, poll, [&](std::size_t t, const Poll& own_poll) {
    own_poll();
    Node* nodes = out.nodes.data() + out.node_start[t];
    std::copy_n(forest.tree(t), out.node_start[t + 1] - out.node_start[t], nodes);
    std::size_t end = starts[t];
    if (shrinkages[t] == 0) {
      const auto first = static_cast<std::size_t>(forest.entry_start[t]);
      const auto last = static_cast<std::size_t>(forest.entry_start[t + 1]);
      for (std::size_t e = first; e < last; ++e) {
        out.entry_label[end] = forest.entry_label[e];
        out.entry_count[end++] = static_cast<double>(forest.entry_count[e]);
      }
      ends[t] = end;
      return;
    }
    const auto shrinkage = shrinkages.subspan(t, 1);
    const auto in = contents_of(parts_of<double>(forest, t), forest.n_classes, shrinkage);
    for_each_smoothed_leaf(
        forest.tree(t), forest.n_classes, Smoothings{{}, shrinkage}, in,
        [](std::uint32_t, std::uint32_t) { return true; },
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

template void out_of_bag_smoothed(const ForestView<std::uint16_t>&, const Rows&,
                                  std::span<const std::uint32_t>, const Bootstrap&, std::uint64_t,
                                  std::size_t, const Smoothings&, int, const Poll&,
                                  std::span<float>, std::span<std::int64_t>);
template void out_of_bag_smoothed(const ForestView<std::uint32_t>&, const Rows&,
                                  std::span<const std::uint32_t>, const Bootstrap&, std::uint64_t,
                                  std::size_t, const Smoothings&, int, const Poll&,
                                  std::span<float>, std::span<std::int64_t>);
template void out_of_bag_smoothed(const ForestView<double>&, const Rows&,
                                  std::span<const std::uint32_t>, const Bootstrap&, std::uint64_t,
                                  std::size_t, const Smoothings&, int, const Poll&,
                                  std::span<float>, std::span<std::int64_t>);
template Forest shrunk(const ForestView<std::uint16_t>&, std::span<const double>, int, const Poll&);
template Forest shrunk(const ForestView<std::uint32_t>&, std::span<const double>, int, const Poll&);
template Forest shrunk(const ForestView<double>&, std::span<const double>, int, const Poll&);

}  // namespace hardwood
