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
  // Has room for trees of up to max_samples samples.
  Grower(const Codes& codes, const C& criterion, const GrowOptions& options, std::size_t n_classes,
         std::size_t max_samples, const Poll& poll)
      : codes_(codes),
        criterion_(criterion),
        options_(options),
        n_classes_(n_classes),
        spare_(max_samples),
        meter_(poll),
        search_(codes, criterion_, options_.search, n_classes, max_samples, meter_) {}

  Tree grow(std::vector<Sample> samples, Rng rng) {
    samples_ = std::move(samples);
    rng_ = rng;
    tree_ = {};
    tree_.n_classes = n_classes_;
    search_.start_tree(std::all_of(samples_.begin(), samples_.end(),
                                   [](const Sample& s) { return s.weight == 1; }));
    Task root{.begin = 0, .end = samples_.size()};
    root.counts = zeros();
    add_counts<Sample>(samples_, root.counts);
    total_weight_ = sum(root.counts);
    if (options_.max_leaves == std::numeric_limits<std::size_t>::max())
      grow_depth_first(std::move(root));
    else
      grow_best_first(std::move(root));
    return std::move(tree_);
  }

 private:
  // A node to be made: its samples, and what it inherits.
  struct Task {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t depth = 0;
    std::size_t n_constant = 0;
    Bounds bounds{};
    std::uint32_t right_of = kNobody;  // the node whose right child this becomes
    std::vector<double> counts{};

    std::size_t n_rows() const { return end - begin; }
  };

  struct Split {
    Cut cut;
    double threshold = 0;
    double gain = 0;
    Task left, right;

    Node node() const {
      return {threshold, static_cast<std::int32_t>(cut.feature),
              cut.missing_left ? Node::missing_left_bit : 0};
    }
  };

  void grow_depth_first(Task root) {
    std::vector<Task> stack;
    stack.push_back(std::move(root));
    while (!stack.empty()) {
      Task task = std::move(stack.back());
      stack.pop_back();
      Split split;
      if (!find_split(task, split)) {
        tree_.add_leaf(task.counts, task.n_rows(), task.right_of, is_constrained());
        recycle(std::move(task.counts));
        continue;
      }
      split.right.right_of = tree_.add(split.node(), task.right_of);
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
    std::vector<Place> stack{{0, kNobody}};
    while (!stack.empty()) {
      const auto [number, right_of] = stack.back();
      stack.pop_back();
      const Grown& g = grown[number];
      if (g.left == 0) {
        tree_.add_leaf(g.counts, g.n_rows, right_of, is_constrained());
        continue;
      }
      const std::uint32_t node = tree_.add(g.split.node(), right_of);
      stack.push_back({g.right, node});
      stack.push_back({g.left, kNobody});
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

    const NodeContext node{
        counts,           n_rows,     options_.min_rows_leaf, options_.min_weight_leaf,
        is_constrained(), task.bounds};
    const std::span<Sample> samples(samples_.data() + task.begin, n_rows);
    const auto found = search_.best(samples, node, task.n_constant, rng_);
    if (!found.cut.found) return false;

    split.cut = found.cut;
    split.threshold = threshold_of(codes_.columns[split.cut.feature], split.cut);
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
    if (is_constrained())
      std::tie(split.left.bounds, split.right.bounds) =
          child_bounds(left, right, options_.search.monotonic_cst[split.cut.feature], task.bounds);
    // Where the node has no missing value, one met later goes to the larger child.
    if (!has_missing(samples, split.cut.feature)) split.cut.missing_left = left.n > right.n;
    return true;
  }

  bool is_constrained() const { return !options_.search.monotonic_cst.empty(); }

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
    const CodeSource source = source_in_column(codes_, feature);
    return std::any_of(samples.begin(), samples.end(),
                       [&](const Sample& s) { return source.at(s.row) == column.n_codes; });
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
  Rng rng_{0, 0};
  Meter meter_;
  Search<C, Sample> search_;
  std::vector<std::vector<double>> pool_;
  double total_weight_ = 0;
  Tree tree_;
};

}  // namespace hardwood
