// The best cut of one feature in one node.
//
// `Scanner` walks the ordered entries of a node. For criteria that are sums over classes it first
// writes down both sides' sums at every cut, one pass forward and one backward (the largest count
// only grows in either direction), and then evaluates all cuts in one loop without branches. For
// the others, and for real-valued weights and monotonic constraints, it keeps the class counts of
// both sides and asks the criterion at each cut.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "hardwood/criterion.hpp"
#include "hardwood/order.hpp"
#include "hardwood/sample.hpp"

namespace hardwood {

// Limits on the probability of the second class, from monotonic constraints above the node.
struct Bounds {
  double low = 0;
  double high = 1;
};

// What a node is allowed to do; the same for all features.
struct NodeContext {
  Counts counts;
  std::size_t n_rows;
  std::size_t min_rows;  // on each side
  double min_weight;     // on each side
  bool constrained;      // monotonic constraints are in force
  Bounds bounds;
};

// The best cut so far: samples with code <= last_left go left; missing ones as it says.
struct Cut {
  double score = -std::numeric_limits<double>::infinity();
  std::uint32_t feature = 0;
  std::uint32_t last_left = 0;
  std::uint32_t first_right = 0;
  bool missing_left = false;
  bool found = false;
};

inline double proportion_of_second(Counts side) { return side.of_class[1] / side.n; }

// As in scikit-learn, bounds stop splits on constrained features only; below a split on another
// feature the predicted probability is clipped to them (expand.hpp).
inline bool respects(Counts left, Counts right, int direction, Bounds bounds) {
  if (direction == 0) return true;
  const double l = proportion_of_second(left), r = proportion_of_second(right);
  return std::min(l, r) >= bounds.low && std::max(l, r) <= bounds.high && (r - l) * direction >= 0;
}

// The bounds of the left and the right child.
inline std::pair<Bounds, Bounds> child_bounds(Counts left, Counts right, int direction,
                                              Bounds bounds) {
  std::pair<Bounds, Bounds> children{bounds, bounds};
  if (direction == 0) return children;
  const double middle = (proportion_of_second(left) + proportion_of_second(right)) / 2;
  (direction > 0 ? children.first : children.second).high = middle;
  (direction > 0 ? children.second : children.first).low = middle;
  return children;
}

template <Criterion C, class Sample>
class Scanner {
 public:
  Scanner(const C& criterion, std::size_t n_classes, std::size_t n_samples)
      : criterion_(criterion), left_(n_classes), right_(n_classes) {
    cut_at_.resize(n_samples + 1);
    if constexpr (kSummed) sums_.resize(n_samples + 2);
  }

  // Looks at every allowed cut of the entries, from number `first_cut` on, and returns the best
  // one's position (the index of its last left entry), or `none`.
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  std::size_t best(const Workspace<Sample>& entries, const NodeContext& node, int direction,
                   std::size_t first_cut, double& score) {
    if constexpr (kSummed)
      if (criterion_.can_sum() && !node.constrained)
        return best_by_sums(entries, node, first_cut, score);
    return best_by_counts(entries, node, direction, first_cut, score);
  }

 private:
  static constexpr bool kSummed = SummedCriterion<C> && kWhole<Sample>;

  template <class Criterion>
  struct SumOf {
    using type = char;
  };
  template <SummedCriterion Criterion>
  struct SumOf<Criterion> {
    using type = typename Criterion::Sum;
  };
  using Sum = typename SumOf<C>::type;

  // Sums of both sides at each cut. Cut j's right side stands at j + 1: the backward pass counts
  // down from the number of cuts.
  struct Sums {
    std::vector<std::int32_t> left_n, left_max, right_max;
    std::vector<Sum> left, right;
    std::vector<double> score;

    void resize(std::size_t n) {
      for (auto* v : {&left_n, &left_max, &right_max}) v->resize(n);
      for (auto* v : {&left, &right}) v->resize(n);
      score.resize(n);
    }
  };

  std::size_t best_by_sums(const Workspace<Sample>& e, const NodeContext& node,
                           std::size_t first_cut, double& best_score)
    requires kSummed
  {
    const std::size_t n_cuts = sum_left(e);
    if (n_cuts <= first_cut) return none;
    sum_right(e, n_cuts);
    const auto n = static_cast<std::int32_t>(node.counts.n);
    auto [first, last] = allowed(first_cut, n_cuts, e.one_row_each, node);
    if (first >= last) return none;
    for (std::size_t j = first; j < last; ++j) {
      const Summary<Sum> left{static_cast<double>(sums_.left_n[j]), sums_.left[j],
                              static_cast<double>(sums_.left_max[j])};
      const Summary<Sum> right{static_cast<double>(n - sums_.left_n[j]), sums_.right[j + 1],
                               static_cast<double>(sums_.right_max[j + 1])};
      sums_.score[j] = criterion_.score(left, right);
    }
    const auto begin = sums_.score.begin();
    const auto best = std::max_element(begin + first, begin + last);
    if (!(*best > best_score)) return none;
    best_score = *best;
    return cut_at_[best - begin];
  }

  std::size_t sum_left(const Workspace<Sample>& e)
    requires kSummed
  {
    count_.assign(left_.size(), 0);
    std::int32_t n = 0, max = 0;
    Sum sum = 0;
    std::size_t cut = 0;
    for (std::size_t i = 0; i + 1 < e.size; ++i) {
      const auto weight = static_cast<std::int32_t>(e.weight[i]);
      const std::int32_t count = count_[e.label[i]];
      n += weight;
      if constexpr (C::uses_sum) sum += criterion_.step(count, weight);
      if constexpr (C::uses_max) max = std::max(max, count + weight);
      count_[e.label[i]] = count + weight;
      cut_at_[cut] = static_cast<std::uint32_t>(i);
      sums_.left_n[cut] = n;
      if constexpr (C::uses_sum) sums_.left[cut] = sum;
      if constexpr (C::uses_max) sums_.left_max[cut] = max;
      cut += e.code[i] != e.code[i + 1];
    }
    return cut;
  }

  void sum_right(const Workspace<Sample>& e, std::size_t n_cuts)
    requires kSummed
  {
    count_.assign(left_.size(), 0);
    std::int32_t max = 0;
    Sum sum = 0;
    std::size_t cut = n_cuts;
    for (std::size_t i = e.size - 1; i > 0; --i) {
      const auto weight = static_cast<std::int32_t>(e.weight[i]);
      const std::int32_t count = count_[e.label[i]];
      if constexpr (C::uses_sum) sum += criterion_.step(count, weight);
      if constexpr (C::uses_max) max = std::max(max, count + weight);
      count_[e.label[i]] = count + weight;
      if constexpr (C::uses_sum) sums_.right[cut] = sum;
      if constexpr (C::uses_max) sums_.right_max[cut] = max;
      cut -= e.code[i] != e.code[i - 1];
    }
  }

  // The cuts that leave enough on both sides are a range, as both sides change one way.
  struct Range {
    std::size_t first, last;
  };
  Range allowed(std::size_t first, std::size_t last, bool one_row_each, const NodeContext& node) {
    if (node.min_rows > 1) {  // then an entry is one row, or all weights are 1
      auto rows_left = [&](std::size_t j) -> std::size_t {
        return one_row_each ? cut_at_[j] + 1 : static_cast<std::size_t>(sums_.left_n[j]);
      };
      while (first < last && rows_left(first) < node.min_rows) ++first;
      while (first < last && node.n_rows - rows_left(last - 1) < node.min_rows) --last;
    }
    if (node.min_weight > 0) {
      while (first < last && sums_.left_n[first] < node.min_weight) ++first;
      while (first < last && node.counts.n - sums_.left_n[last - 1] < node.min_weight) --last;
    }
    return {first, last};
  }

  std::size_t best_by_counts(const Workspace<Sample>& e, const NodeContext& node, int direction,
                             std::size_t first_cut, double& best_score) {
    std::fill(left_.begin(), left_.end(), 0);
    double n = 0;
    std::size_t cut = 0, best = none;
    for (std::size_t i = 0; i + 1 < e.size; ++i) {
      left_[e.label[i]] += static_cast<double>(e.weight[i]);
      n += static_cast<double>(e.weight[i]);
      if (e.code[i] == e.code[i + 1] || cut++ < first_cut) continue;
      const double n_right = node.counts.n - n;
      if (node.min_rows > 1) {  // then an entry is one row, or all weights are 1
        const std::size_t rows = e.one_row_each ? i + 1 : static_cast<std::size_t>(n);
        if (rows < node.min_rows || node.n_rows - rows < node.min_rows) continue;
      }
      if (n < node.min_weight || n_right < node.min_weight || n_right <= 0) continue;
      // With real weights the difference can be a little off: never below nothing.
      for (std::size_t k = 0; k < right_.size(); ++k)
        right_[k] = std::max(node.counts.of_class[k] - left_[k], 0.0);
      const Counts left{left_, n}, right{right_, n_right};
      if (node.constrained && !respects(left, right, direction, node.bounds)) continue;
      const double score = criterion_.score(left, right);
      if (score > best_score) {
        best_score = score;
        best = i;
      }
    }
    return best;
  }

  const C& criterion_;
  std::vector<double> left_, right_;
  std::vector<std::int32_t> count_;
  std::vector<std::uint32_t> cut_at_;
  Sums sums_;
};

}  // namespace hardwood
