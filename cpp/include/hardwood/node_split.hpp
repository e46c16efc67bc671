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
  std::uint64_t key = 0;             // of its random stream, if it is to have one of its own
  std::vector<double> counts{};

  std::size_t n_rows() const { return end - begin; }
};

struct Split {
  Cut cut;
  double threshold = 0;
  CategorySet set{};  // of a cut by categories
  double gain = 0;
  Task left{}, right{};

  // The children's streams follow from the node's, whatever its search has taken of it.
  void give_keys(Rng& rng) {
    left.key = rng.next();
    right.key = rng.next();
  }

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

inline double sum(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// Whether the node may be split, if a cut is found.
inline bool may_split(const Task& task, const GrowOptions& options) {
  const std::size_t n_rows = task.n_rows();
  return n_rows >= options.min_rows_split && n_rows >= 2 * options.min_rows_leaf &&
         task.depth < options.max_depth &&
         (options.min_weight_leaf <= 0 || sum(task.counts) >= 2 * options.min_weight_leaf) &&
         std::ranges::count(task.counts, 0.0) + 1 < std::ssize(task.counts);
}

inline NodeContext context_of(const Task& task, const GrowOptions& options) {
  return {{task.counts, sum(task.counts)}, task.n_rows(),
          options.min_rows_leaf,           options.min_weight_leaf,
          options.is_constrained(),        task.bounds};
}

// The set is made of the categories on the side that missing values do not go to.
inline void take_set(const Column& column, bool larger_left, Split& split) {
  Cut& cut = split.cut;
  auto has_missing = [&](std::span<const std::uint16_t> codes) {
    return std::ranges::find(codes, column.n_codes) != codes.end();
  };
  cut.missing_left =
      has_missing(cut.left_codes()) || (larger_left && !has_missing(cut.right_codes()));
  std::vector<std::uint32_t> categories;
  for (const std::uint16_t code : cut.missing_left ? cut.right_codes() : cut.left_codes())
    categories.push_back(static_cast<std::uint32_t>(lowest_values(column)[code]));
  split.set = CategorySet::of(categories);
}

// Fills in what follows from the children's counts; false if the node stays a leaf. `missing` tells
// whether the node has missing values of a feature that is cut at a threshold.
inline bool settle_split(const Task& task, const Codes& codes, const AnyCriterion& criterion,
                         const GrowOptions& options, double total_weight, bool missing,
                         Split& split) {
  const Counts node{task.counts, sum(task.counts)};
  const Counts left{split.left.counts, sum(split.left.counts)};
  const Counts right{split.right.counts, sum(split.right.counts)};
  split.gain = criterion.gain(node, left, right);
  if (!(split.gain > 0) || split.gain < options.min_gain * total_weight) return false;
  if (options.is_constrained())
    std::tie(split.left.bounds, split.right.bounds) =
        child_bounds(left, right, options.search.monotonic_cst[split.cut.feature], task.bounds);
  // Where the node has no missing value, one met later goes to the larger child.
  const Column& column = codes.columns[split.cut.feature];
  const bool larger_left = left.n > right.n;
  if (split.cut.is_set()) {
    take_set(column, larger_left, split);
  } else {
    split.threshold = threshold_of(column, split.cut);
    if (!missing) split.cut.missing_left = larger_left;
  }
  return true;
}

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
    if (!may_split(task, options_)) return false;
    const NodeContext node = context_of(task, options_);
    const Places places{place, static_cast<std::uint32_t>(task.begin)};
    const std::span<Sample> samples(samples_.data() + task.begin, n_rows);
    auto found = search_.best(samples, node, place ? &places : nullptr, task.n_constant, rng);
    if (!found.cut.found) return false;

    split.cut = std::move(found.cut);
    prefetch_threshold(codes_.columns[split.cut.feature], split.cut);
    if (spare_.size() < n_rows) spare_.resize(n_rows);
    const CodeSource source = search_.source(samples, split.cut.feature);
    const std::size_t n_left =
        partition(samples, codes_, source, split.cut, spare_.data(), is_left_);
    split.left = {.begin = task.begin, .end = task.begin + n_left, .depth = task.depth + 1};
    split.right = {.begin = task.begin + n_left, .end = task.end, .depth = task.depth + 1};
    split.left.n_constant = split.right.n_constant = found.n_constant;
    count_children(task, split);
    const bool missing = !split.cut.is_set() && has_missing(samples, source, split.cut.feature);
    if (settle_split(task, codes_, criterion_, options_, total_weight_, missing, split))
      return true;
    recycle(std::move(split.left.counts));
    recycle(std::move(split.right.counts));
    return false;
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

  const Codes& codes_;
  const AnyCriterion& criterion_;
  const GrowOptions& options_;
  const std::size_t n_classes_;
  std::span<Sample> samples_;
  double total_weight_ = 0;
  std::vector<Sample> spare_;
  std::vector<std::uint8_t> is_left_;  // for partitions
  FeatureDraw<Sample> search_;
  std::vector<std::vector<double>> pool_;
};

}  // namespace hardwood
