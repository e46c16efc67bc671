// The best split of a node: which features are looked at, and how each is cut.
//
// Features are visited in random order and a later one must be strictly better. `max_features`
// counts features that vary in the node; constant ones are put aside, and remembered for the whole
// subtree: they stand at the front of the list of features, where nothing below the node moves
// them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "hardwood/order.hpp"
#include "hardwood/parallel.hpp"
#include "hardwood/rng.hpp"
#include "hardwood/split.hpp"

namespace hardwood {

struct SearchOptions {
  std::size_t max_features = 1;
  bool random_cuts = false;        // one random threshold a feature instead of the best
  std::vector<int> monotonic_cst;  // -1, 0, 1 for each feature; empty: none
};

// Calls back every few million visits of a sample, so that a long fit can be stopped.
class Meter {
 public:
  explicit Meter(const Poll& poll) : poll_(poll) {}
  void add(std::size_t visits) {
    if ((visits_ += visits) < (std::size_t{1} << 22)) return;
    visits_ = 0;
    if (poll_) poll_();
  }

 private:
  const Poll& poll_;
  std::size_t visits_ = 0;
};

// A threshold strictly between two adjacent values, as scikit-learn's: their midpoint.
inline double midpoint(double low, double high) {
  const double middle = low / 2 + high / 2;
  return middle < high ? std::max(middle, low) : low;
}

inline double threshold_of(const Column& column, const Cut& cut) {
  if (cut.first_right == column.n_codes) return std::numeric_limits<double>::infinity();
  return midpoint(column.high[cut.last_left], column.low[cut.first_right]);
}

template <Criterion C, class Sample>
class Search {
 public:
  Search(const Codes& codes, const C& criterion, const SearchOptions& options,
         std::size_t n_classes, std::size_t n_samples, Meter& meter)
      : codes_(codes),
        criterion_(criterion),
        options_(options),
        n_classes_(n_classes),
        meter_(meter),
        space_(n_samples, most_codes(codes)),
        scanner_(criterion, n_classes, n_samples),
        features_(codes.n_columns()),
        left_(n_classes),
        right_(n_classes) {}

  void start_tree(bool unit_weights) {
    unit_weights_ = unit_weights;
    std::iota(features_.begin(), features_.end(), 0u);
  }

  struct Found {
    Cut cut;
    double threshold = 0;
    std::size_t n_constant = 0;  // features known to be constant in the node and all below it
  };

  Found best(std::span<const Sample> samples, const NodeContext& node, std::size_t n_constant,
             Rng& rng) {
    Found found;
    found.n_constant = n_constant;
    std::size_t end = features_.size(), visited = 0;
    while (visited < options_.max_features && found.n_constant < end) {
      const auto undrawn = static_cast<std::uint32_t>(end - found.n_constant);
      std::uint32_t& drawn = features_[found.n_constant + rng.below(undrawn)];
      if (visit(drawn, samples, node, rng, found)) {
        std::swap(drawn, features_[--end]);
        ++visited;
      } else {
        std::swap(drawn, features_[found.n_constant++]);
      }
    }
    return found;
  }

 private:
  static std::uint32_t most_codes(const Codes& codes) {
    std::uint32_t most = 0;
    for (const auto& column : codes.columns) most = std::max(most, column.n_codes + 1);
    return most;
  }

  // Improves on `found` if the feature can; false if the feature is constant.
  bool visit(std::uint32_t feature, std::span<const Sample> samples, const NodeContext& node,
             Rng& rng, Found& found) {
    meter_.add(samples.size());
    const Column& column = codes_.columns[feature];
    const CodeRange range = gather(samples, code_source(codes_, feature, samples.size()), space_);
    if (range.first == range.last) return false;
    const int direction = options_.monotonic_cst.empty() ? 0 : options_.monotonic_cst[feature];
    const bool missing = column.has_missing && range.last == column.n_codes;
    if (options_.random_cuts)
      cut_at_random(feature, samples, node, direction, range, missing, rng, found);
    else
      cut_best(feature, samples, node, direction, range, missing, found);
    return true;
  }

  void cut_best(std::uint32_t feature, std::span<const Sample> samples, const NodeContext& node,
                int direction, CodeRange range, bool missing, Found& found) {
    const bool may_merge = unit_weights_ || node.min_rows <= 1;
    order_samples(samples, range, n_classes_, may_merge, space_);
    space_.code[space_.size] = space_.code[space_.size - 1];
    take(feature, false, scanner_.best(space_, node, direction, 0, found.cut.score), found);
    if (!missing) return;
    // Once more with the missing values on the left. They alone against all others is the same
    // split as the last one above.
    rotate_missing_to_front(codes_.columns[feature].n_codes);
    take(feature, true, scanner_.best(space_, node, direction, 1, found.cut.score), found);
  }

  void take(std::uint32_t feature, bool missing_left, std::size_t position, Found& found) {
    if (position == Scanner<C, Sample>::none) return;
    found.cut.found = true;
    found.cut.feature = feature;
    found.cut.last_left = space_.code[position];
    found.cut.first_right = space_.code[position + 1];
    found.cut.missing_left = missing_left;
    found.threshold = threshold_of(codes_.columns[feature], found.cut);
  }

  void rotate_missing_to_front(std::uint32_t missing_code) {
    const auto begin = space_.code.begin(), end = begin + space_.size;
    const auto first_missing = std::find(begin, end, missing_code) - begin;
    std::rotate(begin, begin + first_missing, end);
    std::rotate(space_.label.begin(), space_.label.begin() + first_missing,
                space_.label.begin() + space_.size);
    std::rotate(space_.weight.begin(), space_.weight.begin() + first_missing,
                space_.weight.begin() + space_.size);
  }

  // A threshold drawn uniformly between the smallest and the largest value, or, where only missing
  // values differ, the split of missing from known. Missing values go where they gain more.
  void cut_at_random(std::uint32_t feature, std::span<const Sample> samples,
                     const NodeContext& node, int direction, CodeRange range, bool missing,
                     Rng& rng, Found& found) {
    const Column& column = codes_.columns[feature];
    const std::uint16_t* codes = space_.codes.data();
    std::uint32_t last = range.last;
    if (missing) {
      last = range.first;
      for (std::size_t i = 0; i < samples.size(); ++i)
        if (codes[i] != column.n_codes) last = std::max<std::uint32_t>(last, codes[i]);
    }
    double threshold = std::numeric_limits<double>::infinity();
    std::uint32_t last_left = last;
    if (range.first < last) {
      const double smallest = column.low[range.first], largest = column.high[last];
      // Half and half, as the difference of two finite numbers may not be finite.
      const double u = rng.unit();
      threshold = 2 * (smallest / 2 + u * (largest / 2 - smallest / 2));
      const auto codes_below =
          std::upper_bound(column.high.begin(), column.high.end(), threshold) - column.high.begin();
      last_left = std::clamp<std::uint32_t>(static_cast<std::uint32_t>(codes_below) - 1,
                                            range.first, last - 1);
      // Rounding, and codes that stand for a range of values, must not part predict from fit.
      const double from = column.high[last_left], to = column.low[last_left + 1];
      if (!(threshold >= from && threshold < to)) threshold = midpoint(from, to);
    }
    for (const bool missing_left : {false, true}) {
      if (missing_left && (!missing || last_left == last)) break;
      std::fill(left_.begin(), left_.end(), 0);
      std::size_t rows = 0;
      for (std::size_t i = 0; i < samples.size(); ++i) {
        const bool left = (codes[i] <= last_left) | (missing_left & (codes[i] == column.n_codes));
        left_[samples[i].label] += left ? static_cast<double>(samples[i].weight) : 0.0;
        rows += left;
      }
      for (std::size_t k = 0; k < n_classes_; ++k)
        right_[k] = std::max(node.counts.of_class[k] - left_[k], 0.0);
      const double n_left = std::accumulate(left_.begin(), left_.end(), 0.0);
      const Counts left{left_, n_left}, right{right_, node.counts.n - n_left};
      if (rows < node.min_rows || node.n_rows - rows < node.min_rows) continue;
      if (left.n < node.min_weight || right.n < node.min_weight || right.n <= 0) continue;
      if (node.constrained && !respects(left, right, direction, node.bounds)) continue;
      const double score = criterion_.score(left, right);
      if (!(score > found.cut.score)) continue;
      found.cut = {score, feature, last_left, last_left + 1, missing_left, true};
      found.threshold = threshold;
    }
  }

  const Codes& codes_;
  const C& criterion_;
  const SearchOptions& options_;
  bool unit_weights_ = true;
  const std::size_t n_classes_;
  Meter& meter_;
  Workspace<Sample> space_;
  Scanner<C, Sample> scanner_;
  std::vector<std::uint32_t> features_;
  std::vector<double> left_, right_;
};

}  // namespace hardwood
