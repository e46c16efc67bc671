// The best split of a node: which features are looked at, and how each is cut.
//
// Features are visited in random order and a later one must be strictly better. `max_features`
// counts features that vary in the node; constant ones are put aside, and remembered for the whole
// subtree: they stand at the front of the list of features, where nothing below the node moves
// them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "hardwood/gather.hpp"
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
  const double from = column.high[cut.last_left], to = column.low[cut.first_right];
  // Not where rounding, or a code that stands for a range of values, would part predict from fit.
  const double drawn = cut.random_threshold;
  return drawn >= from && drawn < to ? drawn : midpoint(from, to);
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
        counts_(4 * n_classes),
        left_(n_classes) {}

  void start_tree(bool unit_weights) {
    unit_weights_ = unit_weights;
    std::iota(features_.begin(), features_.end(), 0u);
  }

  struct Found {
    Cut cut;
    std::size_t n_constant = 0;  // features known to be constant in the node and all below it
  };

  Found best(std::span<const Sample> samples, const NodeContext& node, std::size_t n_constant,
             Rng& rng) {
    Found found;
    found.n_constant = n_constant;
    scanner_.start(node);
    std::size_t end = features_.size(), visited = 0;
    while (visited < options_.max_features && found.n_constant < end && !found.cut.perfect) {
      const std::size_t size =
          std::min({kBatch, options_.max_features - visited, end - found.n_constant,
                    std::max<std::size_t>(1, kBatchRoom / samples.size())});
      for (std::size_t j = 0; j < size; ++j) {  // drawn ones gather at the back
        const auto undrawn = static_cast<std::uint32_t>(end - j - found.n_constant);
        std::swap(features_[found.n_constant + rng.below(undrawn)], features_[end - 1 - j]);
      }
      const std::span<std::uint32_t> batch(features_.data() + end - size, size);
      const std::size_t varying = visit(batch, samples, node, rng, found.cut);
      set_constants_aside(batch, size - varying, end - size, found.n_constant);
      end -= varying;
      visited += varying;
    }
    return found;
  }

 private:
  using Weight = typename Sample::Weight;

  static constexpr std::size_t kBatch = 32;
  static constexpr std::size_t kBatchRoom = 1 << 18;  // codes read at a time

  static std::uint32_t most_codes(const Codes& codes) {
    std::uint32_t most = 0;
    for (const auto& column : codes.columns) most = std::max(most, column.n_codes + 1);
    return most;
  }

  // Improves on `cut` with every feature of the batch that can. Puts the constant ones first, and
  // returns the number of the others.
  std::size_t visit(std::span<std::uint32_t> batch, std::span<const Sample> samples,
                    const NodeContext& node, Rng& rng, Cut& cut) {
    const std::size_t n = samples.size();
    if (codes_read_.size() < batch.size() * n) codes_read_.resize(batch.size() * n);
    gather(codes_, batch, samples, codes_read_.data(), n);
    std::size_t n_constant = 0;
    // From the back, in the order of the draws.
    std::fill_n(constant_.begin(), batch.size(), false);
    for (std::size_t f = batch.size(); f-- > 0 && !cut.perfect;) {
      meter_.add(n);
      const std::uint16_t* codes = codes_read_.data() + f * n;
      const CodeRange range = range_of({codes, n});
      constant_[f] = range.first == range.last;
      n_constant += constant_[f];
      if (!constant_[f]) look_at(batch[f], samples, codes, range, node, rng, cut);
    }
    std::size_t place = 0;
    for (std::size_t f = 0; f < batch.size(); ++f)
      if (constant_[f]) std::swap(batch[place++], batch[f]);
    return batch.size() - n_constant;
  }

  // The features stand as [constant | undrawn | batch | drawn before], the batch's constant ones
  // first; these move behind the other constant ones, and the undrawn behind them.
  void set_constants_aside(std::span<std::uint32_t> batch, std::size_t n_new,
                           std::size_t undrawn_end, std::size_t& n_constant) {
    const std::size_t n_undrawn = undrawn_end - n_constant;
    for (std::size_t j = 0; j < std::min(n_new, n_undrawn); ++j)
      std::swap(features_[n_constant + j], batch[n_new - 1 - j]);
    n_constant += n_new;
  }

  void look_at(std::uint32_t feature, std::span<const Sample> samples, const std::uint16_t* codes,
               CodeRange range, const NodeContext& node, Rng& rng, Cut& cut) {
    const Column& column = codes_.columns[feature];
    const int direction = options_.monotonic_cst.empty() ? 0 : options_.monotonic_cst[feature];
    const bool missing = column.has_missing && range.last == column.n_codes;
    if (options_.random_cuts)
      cut_at_random(feature, samples, codes, node, direction, range, missing, rng, cut);
    else if (range.size() == 2)
      take_if_better({0, feature, range.first, range.last, false, true}, samples, codes, node,
                     direction, cut);
    else
      cut_best(feature, samples, codes, node, direction, range, missing, cut);
  }

  void cut_best(std::uint32_t feature, std::span<const Sample> samples, const std::uint16_t* codes,
                const NodeContext& node, int direction, CodeRange range, bool missing, Cut& cut) {
    const bool may_merge = unit_weights_ || node.min_rows <= 1;
    order_samples(samples, codes, range, n_classes_, may_merge, space_);
    take(feature, false, scanner_.best(space_, node, direction, 0, cut.score), cut);
    if (!missing) return;
    // Once more with the missing values on the left. They alone against all others is the same
    // split as the last one above.
    rotate_missing_to_front(codes_.columns[feature].n_codes);
    take(feature, true, scanner_.best(space_, node, direction, 1, cut.score), cut);
  }

  // The cut after an entry, whose score the scanner has put in `cut`.
  void take(std::uint32_t feature, bool missing_left, std::size_t position, Cut& cut) {
    if (position == Scanner<C, Sample>::none) return;
    cut = {cut.score,    feature, space_.code[position], space_.code[position + 1],
           missing_left, true};
    cut.perfect = Scanner<C, Sample>::is_perfect(space_, position);
  }

  // One cut alone: counts what it sends left.
  void take_if_better(Cut candidate, std::span<const Sample> samples, const std::uint16_t* codes,
                      const NodeContext& node, int direction, Cut& cut) {
    const std::uint32_t missing_to_left =
        candidate.missing_left ? codes_.columns[candidate.feature].n_codes : kNoCode;
    // Four sets of counts, as the next sample of a class need not wait for the last one then.
    constexpr std::size_t n_sets = 4;
    Weight* counts = counts_.data();
    std::fill_n(counts, n_sets * n_classes_, Weight{0});
    std::size_t rows = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const bool left = (codes[i] <= candidate.last_left) | (codes[i] == missing_to_left);
      counts[i % n_sets * n_classes_ + samples[i].label] +=
          static_cast<Weight>(left) * samples[i].weight;
      rows += left;
    }
    double n_left = 0;
    for (std::size_t k = 0; k < n_classes_; ++k) {
      left_[k] = 0;
      for (std::size_t set = 0; set < n_sets; ++set)
        left_[k] += static_cast<double>(counts[set * n_classes_ + k]);
      n_left += left_[k];
    }
    candidate.score = scanner_.score({left_, n_left}, rows, node, direction);
    if (!(candidate.score > cut.score)) return;
    cut = candidate;
    cut.perfect = is_perfect(node);
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

  // Whether the split that sends left_ left has one class on either side.
  bool is_perfect(const NodeContext& node) const {
    std::size_t left = 0, right = 0;
    for (std::size_t k = 0; k < n_classes_; ++k) {
      left += left_[k] > 0;
      right += left_[k] < node.counts.of_class[k];
    }
    return left == 1 && right == 1;
  }

  // A threshold drawn uniformly between the smallest and the largest value, or, where only missing
  // values differ, the split of missing from known. Missing values go where they gain more.
  void cut_at_random(std::uint32_t feature, std::span<const Sample> samples,
                     const std::uint16_t* codes, const NodeContext& node, int direction,
                     CodeRange range, bool missing, Rng& rng, Cut& cut) {
    const Column& column = codes_.columns[feature];
    std::uint32_t last = range.last;
    if (missing) {
      last = range.first;
      for (std::size_t i = 0; i < samples.size(); ++i)
        if (codes[i] != column.n_codes) last = std::max<std::uint32_t>(last, codes[i]);
    }
    Cut candidate{0, feature, last, column.n_codes, false, true};
    if (range.first < last) {
      const double smallest = column.low[range.first], largest = column.high[last];
      // Half and half, as the difference of two finite numbers may not be finite.
      const double threshold = 2 * (smallest / 2 + rng.unit() * (largest / 2 - smallest / 2));
      const auto codes_below = static_cast<std::uint32_t>(
          std::upper_bound(column.high.begin(), column.high.end(), threshold) -
          column.high.begin());
      candidate.last_left = std::clamp(codes_below - 1, range.first, last - 1);
      candidate.first_right = candidate.last_left + 1;
      candidate.random_threshold = threshold;
    }
    take_if_better(candidate, samples, codes, node, direction, cut);
    if (!missing || candidate.last_left == last) return;
    candidate.missing_left = true;
    take_if_better(candidate, samples, codes, node, direction, cut);
  }

  static constexpr std::uint32_t kNoCode = std::uint32_t{1} << 31;

  const Codes& codes_;
  const C& criterion_;
  const SearchOptions& options_;
  bool unit_weights_ = true;
  const std::size_t n_classes_;
  Meter& meter_;
  Workspace<Sample> space_;
  Scanner<C, Sample> scanner_;
  std::vector<std::uint32_t> features_;
  std::vector<std::uint16_t> codes_read_;  // [feature of the batch][sample]
  std::array<bool, kBatch> constant_{};
  std::vector<Weight> counts_;
  std::vector<double> left_;
};

}  // namespace hardwood
