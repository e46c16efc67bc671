// Grows one tree.
//
// A node is split only if its best gain is strictly positive and at least min_impurity_decrease:
// the paper's early stopping. Growth is depth-first; with max_leaf_nodes it is best-first, the node
// with the largest gain next.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <queue>
#include <span>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "hardwood/partition.hpp"
#include "hardwood/rng.hpp"
#include "hardwood/search.hpp"
#include "hardwood/tree.hpp"

namespace hardwood {

struct GrowOptions {
  SearchOptions search;
  std::size_t max_depth = std::numeric_limits<std::size_t>::max();
  std::size_t min_rows_split = 2;
  std::size_t min_rows_leaf = 1;
  double min_weight_leaf = 0;
  double min_gain = 0;  // as a share of the whole data's weight
  std::size_t max_leaves = std::numeric_limits<std::size_t>::max();
};

template <Criterion C, class Sample>
class Grower {
 public:
  Grower(const Codes& codes, const C& criterion, const GrowOptions& options,
         std::vector<Sample> samples, std::size_t n_classes, Rng rng, const Poll& poll)
      : codes_(codes),
        criterion_(criterion),
        options_(options),
        n_classes_(n_classes),
        samples_(std::move(samples)),
        spare_(samples_.size()),
        rng_(rng),
        meter_(poll),
        search_(codes, criterion_, options_.search, has_unit_weights(), n_classes, samples_.size(),
                meter_) {
    tree_.n_classes = n_classes;
  }

  Tree grow() {
    Task root{.begin = 0, .end = samples_.size()};
    root.counts.assign(n_classes_, 0);
    add_counts<Sample>(samples_, root.counts);
    for (const double count : root.counts) total_weight_ += count;
    if (options_.max_leaves == std::numeric_limits<std::size_t>::max())
      grow_depth_first(std::move(root));
    else
      grow_best_first(std::move(root));
    return std::move(tree_);
  }

 private:
  static constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();

  // A node to be made: its samples, and what it inherits.
  struct Task {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t depth = 0;
    std::size_t n_constant = 0;
    Bounds bounds{};
    std::uint32_t right_of = nobody;  // the node whose right child this becomes
    std::vector<double> counts{};

    std::size_t n_rows() const { return end - begin; }
  };

  struct Split {
    Cut cut;
    double threshold = 0;
    double gain = 0;
    Task left, right;
  };

  bool has_unit_weights() const {
    return std::all_of(samples_.begin(), samples_.end(), [](auto& s) { return s.weight == 1; });
  }

  void grow_depth_first(Task root) {
    std::vector<Task> stack;
    stack.push_back(std::move(root));
    while (!stack.empty()) {
      Task task = std::move(stack.back());
      stack.pop_back();
      const std::uint32_t node = add_node(task.right_of);
      Split split;
      if (!find_split(task, split)) {
        make_leaf(node, task.counts, task.n_rows());
        recycle(std::move(task.counts));
        continue;
      }
      tree_.nodes[node] = {split.threshold, static_cast<std::int32_t>(split.cut.feature),
                           split.cut.missing_left ? Node::missing_left_bit : 0};
      split.right.right_of = node;
      recycle(std::move(task.counts));
      stack.push_back(std::move(split.right));
      stack.push_back(std::move(split.left));
    }
  }

  // Best-first: nodes wait with their splits in a queue, largest gain first, earliest first among
  // equals. The tree is put in depth-first order at the end.
  void grow_best_first(Task root) {
    struct Waiting {
      double gain;
      std::size_t number;
      bool operator<(const Waiting& other) const {
        return gain != other.gain ? gain < other.gain : number > other.number;
      }
    };
    struct Grown {
      Split split;
      std::vector<double> counts;
      std::size_t n_rows;
      std::size_t left = 0, right = 0;  // 0: a leaf
    };
    std::vector<Grown> grown;
    std::priority_queue<Waiting> queue;
    auto add = [&](Task task) {
      task.n_constant = 0;  // the order of growth does not keep what a path knows
      Grown node{.split = {}, .counts = {}, .n_rows = task.n_rows()};
      if (find_split(task, node.split)) queue.push({node.split.gain, grown.size()});
      node.counts = std::move(task.counts);
      grown.push_back(std::move(node));
      return grown.size() - 1;
    };
    add(std::move(root));
    for (std::size_t n_leaves = 1; n_leaves < options_.max_leaves && !queue.empty(); ++n_leaves) {
      const std::size_t number = queue.top().number;
      queue.pop();
      const std::size_t left = add(std::move(grown[number].split.left));
      const std::size_t right = add(std::move(grown[number].split.right));
      grown[number].left = left;
      grown[number].right = right;
    }
    struct Place {
      std::size_t number;
      std::uint32_t right_of;
    };
    std::vector<Place> stack{{0, nobody}};
    while (!stack.empty()) {
      const auto [number, right_of] = stack.back();
      stack.pop_back();
      const std::uint32_t node = add_node(right_of);
      const Grown& g = grown[number];
      if (g.left == 0) {
        make_leaf(node, g.counts, g.n_rows);
        continue;
      }
      tree_.nodes[node] = {g.split.threshold, static_cast<std::int32_t>(g.split.cut.feature),
                           g.split.cut.missing_left ? Node::missing_left_bit : 0};
      stack.push_back({g.right, node});
      stack.push_back({g.left, nobody});
    }
  }

  // Searches, parts the samples, and fills the children in; false if the node stays a leaf.
  bool find_split(const Task& task, Split& split) {
    const std::size_t n_rows = task.n_rows();
    const double n = std::accumulate(task.counts.begin(), task.counts.end(), 0.0);
    const Counts counts{task.counts, n};
    if (n_rows < options_.min_rows_split || n_rows < 2 * options_.min_rows_leaf ||
        task.depth >= options_.max_depth || n < 2 * options_.min_weight_leaf ||
        std::count(task.counts.begin(), task.counts.end(), 0.0) + 1 >=
            static_cast<std::ptrdiff_t>(n_classes_))
      return false;

    const bool constrained = !options_.search.monotonic_cst.empty();
    const NodeContext node{
        counts, n_rows, options_.min_rows_leaf, options_.min_weight_leaf, constrained, task.bounds};
    const std::span<Sample> samples(samples_.data() + task.begin, n_rows);
    const auto found = search_.best(samples, node, task.n_constant, rng_);
    if (!found.cut.found) return false;

    split.cut = found.cut;
    split.threshold = found.threshold;
    const std::size_t n_left = partition(samples, codes_, split.cut, spare_.data());
    split.left = {.begin = task.begin, .end = task.begin + n_left, .depth = task.depth + 1};
    split.right = {.begin = task.begin + n_left, .end = task.end, .depth = task.depth + 1};
    split.left.n_constant = split.right.n_constant = found.n_constant;
    count_children(task, split);
    const Counts left{split.left.counts, sum(split.left.counts)};
    const Counts right{split.right.counts, sum(split.right.counts)};
    split.gain = criterion_.gain(counts, left, right);
    if (!(split.gain > 0) || split.gain < options_.min_gain * total_weight_) {
      recycle(std::move(split.left.counts));
      recycle(std::move(split.right.counts));
      return false;
    }
    if (constrained)
      std::tie(split.left.bounds, split.right.bounds) =
          child_bounds(left, right, options_.search.monotonic_cst[split.cut.feature], task.bounds);
    // Where the node has no missing value, one met later goes to the larger child.
    if (!has_missing(samples, split.cut.feature)) split.cut.missing_left = left.n > right.n;
    return true;
  }

  void count_children(const Task& task, Split& split) {
    split.left.counts = zeros();
    split.right.counts = zeros();
    if constexpr (kWhole<Sample>) {
      // Whole numbers subtract exactly: count the smaller child only.
      const bool left_smaller = split.left.n_rows() < split.right.n_rows();
      Task& smaller = left_smaller ? split.left : split.right;
      Task& larger = left_smaller ? split.right : split.left;
      add_counts<Sample>(samples_of(smaller), smaller.counts);
      for (std::size_t k = 0; k < n_classes_; ++k)
        larger.counts[k] = task.counts[k] - smaller.counts[k];
    } else {
      add_counts<Sample>(samples_of(split.left), split.left.counts);
      add_counts<Sample>(samples_of(split.right), split.right.counts);
    }
  }

  bool has_missing(std::span<const Sample> samples, std::uint32_t feature) const {
    const Column& column = codes_.columns[feature];
    if (!column.has_missing) return false;
    const CodeSource source = code_source(codes_, feature, samples.size());
    return std::any_of(samples.begin(), samples.end(), [&](const Sample& s) {
      return (source.wide ? source.at<std::uint16_t>(s.row) : source.at<std::uint8_t>(s.row)) ==
             column.n_codes;
    });
  }

  std::uint32_t add_node(std::uint32_t right_of) {
    if (tree_.nodes.size() >= Node::missing_left_bit) throw std::length_error("tree too large");
    const auto node = static_cast<std::uint32_t>(tree_.nodes.size());
    if (right_of != nobody) tree_.nodes[right_of].child |= node;
    tree_.nodes.push_back({});
    return node;
  }

  void make_leaf(std::uint32_t node, std::span<const double> counts, std::size_t n_rows) {
    tree_.nodes[node] = {0, Node::leaf, static_cast<std::uint32_t>(tree_.n_leaves())};
    tree_.leaf_counts.insert(tree_.leaf_counts.end(), counts.begin(), counts.end());
    tree_.leaf_rows.push_back(static_cast<std::uint32_t>(n_rows));
  }

  std::span<const Sample> samples_of(const Task& task) const {
    return {samples_.data() + task.begin, task.n_rows()};
  }

  static double sum(std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
  }

  // Vectors of counts are used again, as a tree has many nodes.
  std::vector<double> zeros() {
    if (pool_.empty()) return std::vector<double>(n_classes_, 0);
    std::vector<double> counts = std::move(pool_.back());
    pool_.pop_back();
    std::fill(counts.begin(), counts.end(), 0);
    return counts;
  }
  void recycle(std::vector<double> counts) { pool_.push_back(std::move(counts)); }

  const Codes& codes_;
  const C criterion_;
  const GrowOptions& options_;
  const std::size_t n_classes_;
  std::vector<Sample> samples_, spare_;
  Rng rng_;
  Meter meter_;
  Search<C, Sample> search_;
  std::vector<std::vector<double>> pool_;
  double total_weight_ = 0;
  Tree tree_;
};

}  // namespace hardwood
