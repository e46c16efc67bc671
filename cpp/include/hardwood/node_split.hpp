// Splits one node: the search, the parting of its samples, and its children.
//
// A node is split only if its best gain is strictly positive and at least min_impurity_decrease:
// the paper's early stopping.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "hardwood/any_criterion.hpp"
#include "hardwood/feature_draw.hpp"
#include "hardwood/grow_options.hpp"
#include "hardwood/partition.hpp"
#include "hardwood/rng.hpp"
#include "hardwood/tree.hpp"

namespace hardwood {

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
  CategorySet set{};  // of a cut by categories
  double gain = 0;
  Task left{}, right{};

  Node node() const {
    const std::uint32_t child = cut.missing_left ? Node::missing_left_bit : 0;
    if (cut.is_set())
      return Node::make_set(
          cut.feature, {0, set.first_word, static_cast<std::uint16_t>(set.words.size())}, child);
    return {threshold, static_cast<std::int32_t>(cut.feature), child};
  }

  // Adds the node to a tree, as the right child of another or of nobody, and returns its number.
  std::uint32_t add_to(Tree& tree, std::uint32_t right_of) const {
    return cut.is_set() ? tree.add_set(node(), set.words, right_of) : tree.add(node(), right_of);
  }
};

// One a thread: it has the buffers that a split needs.
template <class Sample>
class NodeSplitter {
 public:
  NodeSplitter(const Codes& codes, const AnyCriterion& criterion, const GrowOptions& options,
               std::size_t n_classes, int n_threads, const Poll& poll)
      : codes_(codes),
        criterion_(criterion),
        options_(options),
        n_classes_(n_classes),
        is_left_(most_codes(codes)),
        search_(codes, criterion_, options_.search, n_classes, n_threads, poll) {}

  // The samples are the tree's; a split reorders those of its node.
  void start_tree(std::span<Sample> samples, bool unit_weights, double total_weight) {
    samples_ = samples;
    total_weight_ = total_weight;
    search_.start_tree(unit_weights);
  }

  FeatureDraw<Sample>& search() { return search_; }

  // Searches, parts the samples, and fills the children in; false if the node stays a leaf. `place`
  // may be null; else it tells where every row's sample stands.
  bool split(const Task& task, Rng& rng, const std::uint32_t* place, Split& split) {
    const std::size_t n_rows = task.n_rows();
    const double n = std::accumulate(task.counts.begin(), task.counts.end(), 0.0);
    const Counts counts{task.counts, n};
    if (n_rows < options_.min_rows_split || n_rows < 2 * options_.min_rows_leaf ||
        task.depth >= options_.max_depth || n < 2 * options_.min_weight_leaf ||
        std::count(task.counts.begin(), task.counts.end(), 0.0) + 1 >=
            static_cast<std::ptrdiff_t>(n_classes_))
      return false;

    const NodeContext node{counts,
                           n_rows,
                           options_.min_rows_leaf,
                           options_.min_weight_leaf,
                           options_.is_constrained(),
                           task.bounds};
    const Places places{place, static_cast<std::uint32_t>(task.begin)};
    const std::span<Sample> samples(samples_.data() + task.begin, n_rows);
    auto found = search_.best(samples, node, place ? &places : nullptr, task.n_constant, rng);
    if (!found.cut.found) return false;

    split.cut = std::move(found.cut);
    if (spare_.size() < n_rows) spare_.resize(n_rows);
    const CodeSource source = search_.source(samples, split.cut.feature);
    const std::size_t n_left =
        partition(samples, codes_, source, split.cut, spare_.data(), is_left_);
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
    if (options_.is_constrained())
      std::tie(split.left.bounds, split.right.bounds) =
          child_bounds(left, right, options_.search.monotonic_cst[split.cut.feature], task.bounds);
    // Where the node has no missing value, one met later goes to the larger child.
    const bool larger_left = left.n > right.n;
    if (split.cut.is_set()) {
      take_set(larger_left, split);
    } else {
      split.threshold = threshold_of(codes_.columns[split.cut.feature], split.cut);
      if (!has_missing(samples, source, split.cut.feature)) split.cut.missing_left = larger_left;
    }
    return true;
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

 private:
  // The set is made of the categories on the side that missing values do not go to.
  void take_set(bool larger_left, Split& split) {
    Cut& cut = split.cut;
    const Column& column = codes_.columns[cut.feature];
    auto has_missing = [&](std::span<const std::uint16_t> codes) {
      return std::ranges::find(codes, column.n_codes) != codes.end();
    };
    cut.missing_left =
        has_missing(cut.left_codes()) || (larger_left && !has_missing(cut.right_codes()));
    categories_.clear();
    for (const std::uint16_t code : cut.missing_left ? cut.right_codes() : cut.left_codes())
      categories_.push_back(static_cast<std::uint32_t>(column.low[code]));
    split.set = CategorySet::of(categories_);
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

  bool has_missing(std::span<const Sample> samples, const CodeSource& source,
                   std::uint32_t feature) const {
    const Column& column = codes_.columns[feature];
    if (!column.has_missing) return false;
    return std::any_of(samples.begin(), samples.end(),
                       [&](const Sample& s) { return source.at(s.row) == column.n_codes; });
  }

  std::span<const Sample> samples_of(const Task& task) const {
    return {samples_.data() + task.begin, task.n_rows()};
  }

  static double sum(std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
  }

  const Codes& codes_;
  const AnyCriterion& criterion_;
  const GrowOptions& options_;
  const std::size_t n_classes_;
  std::span<Sample> samples_;
  double total_weight_ = 0;
  std::vector<Sample> spare_;
  std::vector<std::uint8_t> is_left_;  // for partitions
  std::vector<std::uint32_t> categories_;
  FeatureDraw<Sample> search_;
  std::vector<std::vector<double>> pool_;
};

}  // namespace hardwood
