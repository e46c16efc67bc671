// The best cut of one feature in one node.
//
// `Scanner` walks the ordered entries of a node. For criteria that are sums over classes it first
// writes down both sides' sums at every cut and then evaluates all cuts in one loop without
// branches. For the others, and for real-valued weights and monotonic constraints, it keeps the
// class counts of both sides and asks the criterion at each cut.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "hardwood/batch.hpp"
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
  double random_threshold = std::numeric_limits<double>::quiet_NaN();  // where one was drawn
  bool perfect = false;  // both sides are pure: no other cut can be better
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
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  Scanner(const C& criterion, std::size_t n_classes)
      : criterion_(criterion),
        left_(n_classes),
        right_(n_classes),
        left_count_(n_classes),
        right_count_(n_classes),
        back_count_(n_classes),
        node_count_(n_classes) {}

  // What all features of a node share.
  void start(const NodeContext& node) {
    if constexpr (kWhole<Sample>)
      for (std::size_t k = 0; k < node_count_.size(); ++k)
        node_count_[k] = static_cast<std::int32_t>(node.counts.of_class[k]);
    if constexpr (kSummed) {
      sums_.make_room(node.n_rows + 2 + kAbreast);
      node_sum_ = 0;
      if constexpr (C::uses_sum)
        for (const std::int32_t count : node_count_) node_sum_ += criterion_.step(0, count);
    }
  }

  // The node's class counts, where these are whole numbers.
  std::span<const std::int32_t> node_counts() const { return node_count_; }

  // Looks at every allowed cut of the entries, from number `first_cut` on. Returns the best one's
  // position (the index of its last left entry) if it beats best_score, which it then sets, or
  // none.
  std::size_t best(const Workspace<Sample>& entries, const NodeContext& node, int direction,
                   std::size_t first_cut, double& best_score) {
    if constexpr (BatchedCriterion<C>)
      return best_in_batches(criterion_, entries, node, first_cut, best_score);
    if constexpr (kSummed)
      if (uses_sums(node)) return best_by_sums(entries, node, first_cut, best_score);
    return best_by_counts(entries, node, direction, first_cut, best_score);
  }

  // The score of one cut, comparable with those above, or -infinity if it is not allowed.
  double score(Counts left, std::size_t rows_left, const NodeContext& node, int direction) {
    constexpr double not_allowed = -std::numeric_limits<double>::infinity();
    const double n_right = node.counts.n - left.n;
    if (rows_left < node.min_rows || node.n_rows - rows_left < node.min_rows) return not_allowed;
    if (left.n < node.min_weight || n_right < node.min_weight || n_right <= 0) return not_allowed;
    // With real weights the difference can be a little off: never below nothing.
    for (std::size_t k = 0; k < right_.size(); ++k)
      right_[k] = std::max(node.counts.of_class[k] - left.of_class[k], 0.0);
    const Counts right{right_, n_right};
    if (node.constrained && !respects(left, right, direction, node.bounds)) return not_allowed;
    if constexpr (kSummed)
      if (uses_sums(node)) return criterion_.score(summary(left), summary(right));
    return criterion_.score(left, right);
  }

  // Whether the entries up to a position, and those after it, are of one class each: then no other
  // split can be better.
  static bool is_perfect(const Workspace<Sample>& e, std::size_t position) {
    const auto label = e.label.begin();
    auto one_class = [](auto first, auto last) {
      return std::all_of(first, last, [&](auto other) { return other == *first; });
    };
    const auto middle = label + static_cast<std::ptrdiff_t>(position) + 1;
    return one_class(label, middle) &&
           one_class(middle, label + static_cast<std::ptrdiff_t>(e.size));
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
  static constexpr bool kExact = std::is_integral_v<Sum>;
  static_assert(kExact || !kUsesMin<C>);  // the smallest counts come from the pass forward

  // The smallest count of a side, and how many classes have it.
  struct Least {
    std::int32_t count, n_classes;

    static Least of(std::span<const std::int32_t> counts) {
      Least least{counts[0], 0};
      for (const std::int32_t count : counts) {
        if (count < least.count) least = {count, 0};
        least.n_classes += count == least.count;
      }
      return least;
    }
  };

  // Both sides' sums at each cut. Those of right sides that come from a pass backward stand
  // `shift` further on: that pass starts before the number of cuts is known.
  struct Sums {
    std::size_t shift = 0;
    std::vector<std::int32_t> left_n, left_second, left_max, right_max;
    std::vector<Sum> left, right;
    std::vector<Least> left_least, right_least;
    std::vector<double> score;

    void make_room(std::size_t n) {
      if (score.size() >= n) return;
      for (auto* v : {&left_n, &left_second, &left_max, &right_max}) v->resize(n);
      for (auto* v : {&left, &right}) v->resize(n);
      if constexpr (kUsesMin<C>)
        for (auto* v : {&left_least, &right_least}) v->resize(n);
      score.resize(n);
    }

    // Copies cut j to the next ones.
    void repeat(std::size_t j, std::size_t times) {
      for (auto* v : {&left_n, &left_second, &left_max}) std::fill_n(&(*v)[j + 1], times, (*v)[j]);
      std::fill_n(&left[j + 1], times, left[j]);
      const std::size_t of_sum = j + (kExact ? 0 : shift), of_max = j + shift;
      std::fill_n(&right[of_sum + 1], times, right[of_sum]);
      std::fill_n(&right_max[of_max + 1], times, right_max[of_max]);
      if constexpr (kUsesMin<C>)
        for (auto* v : {&left_least, &right_least}) std::fill_n(&(*v)[j + 1], times, (*v)[j]);
    }
  };

  bool uses_sums(const NodeContext& node) const
    requires kSummed
  {
    return criterion_.can_sum() && !node.constrained;
  }

  Summary<Sum> summary(Counts side) const
    requires kSummed
  {
    if constexpr (TwoClassCriterion<C>)
      return C::summary(static_cast<std::int32_t>(side.of_class[0]),
                        static_cast<std::int32_t>(side.of_class[1]));
    Summary<Sum> out{side.n, 0, 0};
    for (const double count : side.of_class) {
      if constexpr (C::uses_sum) out.sum += criterion_.step(0, static_cast<std::int64_t>(count));
      if constexpr (C::uses_max) out.max = std::max(out.max, count);
    }
    if constexpr (kUsesMin<C>) {
      out.min = *std::ranges::min_element(side.of_class);
      out.n_min = static_cast<double>(std::ranges::count(side.of_class, out.min));
    }
    return out;
  }

  Summary<Sum> summary(std::int32_t first, std::int32_t second) const
    requires kSummed
  {
    if constexpr (TwoClassCriterion<C>) return C::summary(first, second);
    Summary<Sum> out{static_cast<double>(first + second), 0, 0};
    if constexpr (C::uses_sum) out.sum = criterion_.step(0, first) + criterion_.step(0, second);
    if constexpr (C::uses_max) out.max = static_cast<double>(std::max(first, second));
    if constexpr (kUsesMin<C>) {
      out.min = static_cast<double>(std::min(first, second));
      out.n_min = first == second ? 2 : 1;
    }
    return out;
  }

  std::size_t best_by_sums(const Workspace<Sample>& e, const NodeContext& node,
                           std::size_t first_cut, double& best_score)
    requires kSummed
  {
    const bool two_classes = left_.size() == 2;
    const std::size_t n_cuts = two_classes ? sum_two_classes(e) : sum_classes(e);
    const auto [first, last] = allowed(e, first_cut, n_cuts, node);
    if (first >= last) return none;
    const double best =
        two_classes ? score_two_classes(first, last) : score_classes(first, last, node);
    if (!(best > best_score)) return none;
    best_score = best;
    const auto begin = sums_.score.begin();
    const auto place = std::find(begin + static_cast<std::ptrdiff_t>(first), begin + last, best);
    return entry_before(e, static_cast<std::size_t>(place - begin));
  }

  // The entry before a cut. Looked up only when a cut is taken, which is seldom.
  static std::size_t entry_before(const Workspace<Sample>& e, std::size_t cut) {
    std::size_t i = 0;
    for (++cut; cut -= e.code[i] != e.code[i + 1]; ++i) continue;
    return i;
  }

  // Two classes: the sums follow from the weight on the left and how much of it is the second's.
  std::size_t sum_two_classes(const Workspace<Sample>& e)
    requires kSummed
  {
    const auto *code = e.code.data(), *label = e.label.data();
    const auto* weights = e.weight.data();
    std::int32_t *left_n = sums_.left_n.data(), *left_second = sums_.left_second.data();
    std::int32_t n = 0, second = 0;
    std::size_t cut = 0;
    for (std::size_t i = 0; i + 1 < e.size; ++i) {
      const auto weight = static_cast<std::int32_t>(weights[i]);
      n += weight;
      second += label[i] ? weight : 0;
      left_n[cut] = n;
      left_second[cut] = second;
      cut += code[i] != code[i + 1];
    }
    return cut;
  }

  double score_two_classes(std::size_t first, std::size_t last)
    requires kSummed
  {
    const std::int32_t all_first = node_count_[0], all_second = node_count_[1];
    return score_all(first, last, [&](std::size_t j) {
      const std::int32_t in_second = sums_.left_second[j];
      const std::int32_t in_first = sums_.left_n[j] - in_second;
      return criterion_.score(summary(in_first, in_second),
                              summary(all_first - in_first, all_second - in_second));
    });
  }

  // More classes: one pass forward, which takes from the right what it adds to the left where the
  // sums are whole numbers and so come out exact. What cannot be taken away comes from a pass
  // backward, side by side with the other, as neither waits for its own last step then.
  std::size_t sum_classes(const Workspace<Sample>& e)
    requires kSummed
  {
    constexpr bool backward = C::uses_max || (C::uses_sum && !kExact);
    std::fill(left_count_.begin(), left_count_.end(), 0);
    if constexpr (kExact) std::copy(node_count_.begin(), node_count_.end(), right_count_.begin());
    if constexpr (backward) std::fill(back_count_.begin(), back_count_.end(), 0);
    Sum left = 0, right = kExact ? node_sum_ : 0;
    // Plain pointers, which the stores below are known not to change.
    const auto *code = e.code.data(), *label = e.label.data();
    const auto* weights = e.weight.data();
    std::int32_t *left_count = left_count_.data(), *right_count = right_count_.data();
    std::int32_t* back_count = back_count_.data();
    std::int32_t *left_n = sums_.left_n.data(), *left_max = sums_.left_max.data();
    std::int32_t* right_max = sums_.right_max.data();
    Sum *left_sum = sums_.left.data(), *right_sum = sums_.right.data();
    [[maybe_unused]] Least *left_least = sums_.left_least.data(),
                           *right_least = sums_.right_least.data();
    [[maybe_unused]] Least least_left{0, static_cast<std::int32_t>(left_count_.size())},
        least_right = Least::of(node_count_);
    std::int32_t n = 0, max_left = 0, max_right = 0;
    std::size_t cut = 0, cut_back = e.size;
    for (std::size_t i = 0, j = e.size - 1; i + 1 < e.size; ++i, --j) {
      const auto weight = static_cast<std::int32_t>(weights[i]);
      const std::size_t k = label[i];
      const std::int32_t count = left_count[k];
      left_count[k] = count + weight;
      n += weight;
      left_n[cut] = n;
      if constexpr (C::uses_sum) {
        left += criterion_.step(count, weight);
        left_sum[cut] = left;
      }
      if constexpr (C::uses_sum && kExact) {
        const std::int32_t rest = right_count[k] - weight;
        right_count[k] = rest;
        right -= criterion_.step(rest, weight);
        right_sum[cut] = right;
        if constexpr (kUsesMin<C>) {
          if (count == least_left.count && --least_left.n_classes == 0)
            least_left = Least::of(left_count_);
          if (rest < least_right.count)
            least_right = {rest, 1};
          else
            least_right.n_classes += rest == least_right.count;
          left_least[cut] = least_left;
          right_least[cut] = least_right;
        }
      }
      if constexpr (C::uses_max) {
        max_left = std::max(max_left, count + weight);
        left_max[cut] = max_left;
      }
      cut += code[i] != code[i + 1];

      if constexpr (backward) {
        const auto weight_back = static_cast<std::int32_t>(weights[j]);
        const std::int32_t count_back = back_count[label[j]];
        back_count[label[j]] = count_back + weight_back;
        if constexpr (C::uses_sum && !kExact) {
          right += criterion_.step(count_back, weight_back);
          right_sum[cut_back] = right;
        }
        if constexpr (C::uses_max) {
          max_right = std::max(max_right, count_back + weight_back);
          right_max[cut_back] = max_right;
        }
        cut_back -= code[j] != code[j - 1];
      }
    }
    sums_.shift = e.size + 1 - cut;
    return cut;
  }

  double score_classes(std::size_t first, std::size_t last, const NodeContext& node)
    requires kSummed
  {
    const auto n = static_cast<std::int32_t>(node.counts.n);
    const std::size_t shift = sums_.shift;
    return score_all(first, last, [&](std::size_t j) {
      Summary<Sum> left{static_cast<double>(sums_.left_n[j]), sums_.left[j],
                        static_cast<double>(sums_.left_max[j])};
      Summary<Sum> right{static_cast<double>(n - sums_.left_n[j]),
                         sums_.right[j + (kExact ? 0 : shift)],
                         static_cast<double>(sums_.right_max[j + shift])};
      if constexpr (kUsesMin<C>) {
        const Least of_left = sums_.left_least[j], of_right = sums_.right_least[j];
        left.min = of_left.count;
        left.n_min = of_left.n_classes;
        right.min = of_right.count;
        right.n_min = of_right.n_classes;
      }
      return criterion_.score(left, right);
    });
  }

  // Writes every cut's score down and returns the largest. Eight at a time, for the vector units;
  // the last one stands in for those that are not there.
  static constexpr std::size_t kAbreast = 8;

  template <class ScoreOf>
  double score_all(std::size_t first, std::size_t last, const ScoreOf& score_of)
    requires kSummed
  {
    double* scores = sums_.score.data();
    sums_.repeat(last - 1, kAbreast);
    std::array<double, kAbreast> best;
    best.fill(-std::numeric_limits<double>::infinity());
    for (std::size_t j = first; j < last; j += kAbreast) {
      for (std::size_t l = 0; l < kAbreast; ++l) scores[j + l] = score_of(j + l);
      for (std::size_t l = 0; l < kAbreast; ++l)
        best[l] = scores[j + l] > best[l] ? scores[j + l] : best[l];
    }
    for (std::size_t half = kAbreast / 2; half > 0; half /= 2)
      for (std::size_t l = 0; l < half; ++l)
        best[l] = best[l + half] > best[l] ? best[l + half] : best[l];
    return best[0];
  }

  // The cuts that leave enough on both sides are a range, as both sides change one way.
  struct Range {
    std::size_t first, last;
  };
  Range allowed(const Workspace<Sample>& e, std::size_t first, std::size_t last,
                const NodeContext& node) {
    if (node.min_rows > 1) {  // then an entry is one row, or all weights are 1
      auto rows_left = [&](std::size_t cut) {
        return e.one_row_each ? entry_before(e, cut) + 1
                              : static_cast<std::size_t>(sums_.left_n[cut]);
      };
      auto too_few_left = [&](std::size_t cut) { return rows_left(cut) < node.min_rows; };
      auto enough_right = [&](std::size_t cut) {
        return node.n_rows - rows_left(cut) >= node.min_rows;
      };
      const auto cuts = std::views::iota(first, std::max(first, last));
      first = *std::ranges::partition_point(cuts, too_few_left);
      last = *std::ranges::partition_point(cuts, enough_right);
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
      // Where rows are counted (min_rows > 1), an entry is one row, or all weights are 1.
      std::size_t rows = node.min_rows;
      if (node.min_rows > 1) rows = e.one_row_each ? i + 1 : static_cast<std::size_t>(n);
      const double here = score({left_, n}, rows, node, direction);
      if (here > best_score) {
        best_score = here;
        best = i;
      }
    }
    return best;
  }

  const C& criterion_;
  std::vector<double> left_, right_;
  std::vector<std::int32_t> left_count_, right_count_, back_count_, node_count_;
  Sum node_sum_ = 0;
  Sums sums_;
};

}  // namespace hardwood
