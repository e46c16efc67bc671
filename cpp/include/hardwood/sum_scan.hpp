// The scan of whole counts by a criterion that is a sum over classes.
//
// It first writes down both sides' sums at every cut and then evaluates all cuts in one loop
// without branches. Only this is compiled for each criterion and for each instruction set: a file
// in cpp/scans/ instantiates it. Where the criterion allows it, rough_scan.hpp does the same for
// several features at once.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "hardwood/bin_scan.hpp"
#include "hardwood/criterion.hpp"
#include "hardwood/cut_scan.hpp"
#include "hardwood/lane_scan.hpp"
#include "hardwood/rough_scan.hpp"

namespace hardwood {

// Takes a scan by counts for nodes under monotonic constraints.
template <SummedCriterion C>
std::unique_ptr<CutScan<WholeSample>> make_sum_scan(const C& criterion,
                                                    std::unique_ptr<CutScan<WholeSample>> by_counts,
                                                    std::size_t n_classes);

template <SummedCriterion C>
class SumScan final : public CutScan<WholeSample> {
 public:
  SumScan(const C& criterion, std::unique_ptr<CutScan<WholeSample>> by_counts,
          std::size_t n_classes)
      : criterion_(criterion),
        by_counts_(std::move(by_counts)),
        rough_(criterion_, n_classes),
        lanes_(criterion_),
        left_count_(n_classes),
        right_count_(n_classes),
        back_count_(n_classes),
        node_count_(n_classes) {}

  void start(const NodeContext& node) override {
    node_ = &node;
    by_counts_->start(node);
    takes_several_ = !node.constrained && rough_.start(node);
    takes_bins_ = BinScan<C>::takes(node);
    for (std::size_t k = 0; k < node_count_.size(); ++k)
      node_count_[k] = static_cast<std::int32_t>(node.counts.of_class[k]);
    // Entries are fewer than rows where many rows have one code.
    sums_.make_room(std::min(node.n_rows, 65536 * node_count_.size()) + 2 + kAbreast);
    node_sum_ = 0;
    if constexpr (C::uses_sum)
      for (const std::int32_t count : node_count_) node_sum_ += criterion_.step(0, count);
  }

  std::size_t best(const Workspace<WholeSample>& e, int direction, std::size_t first_cut,
                   double& best_score) override {
    if (node_->constrained) return by_counts_->best(e, direction, first_cut, best_score);
    const bool two_classes = node_count_.size() == 2;
    const std::size_t n_cuts = two_classes ? sum_two_classes(e) : sum_classes(e);
    const auto [first, last] = allowed(e, first_cut, n_cuts);
    if (first >= last) return kNoCut;
    const double best = two_classes ? score_two_classes(first, last) : score_classes(first, last);
    if (!(best > best_score)) return kNoCut;
    best_score = best;
    const auto begin = sums_.score.begin();
    const auto place = std::find(begin + static_cast<std::ptrdiff_t>(first), begin + last, best);
    return entry_before(e.entry.data(), static_cast<std::size_t>(place - begin));
  }

  bool takes_several() const override { return takes_several_; }

  Found best_of_several(std::span<const List> lists, double& best_score) override {
    return rough_.best(lists, best_score);
  }

  Found best_of_lanes(const LaneLists& lists, double& best_score) override {
    return lanes_.best(lists, *node_, best_score);
  }

  bool takes_bins() const override { return takes_bins_; }

  double bound_bins(const std::uint32_t* weights, std::size_t n_bins, double least,
                    double* bounds) override {
    return bins_.bound(criterion_, node_count_, weights, n_bins, least, bounds);
  }

  double risk_of(double score) const override {
    if constexpr (RoughCriterion<C>)
      return C::risk_of(score, node_->counts.n);
    else
      return 0;
  }

  // Sums of whole numbers do not depend on how they are summed, nor do those of two classes, which
  // come from their counts.
  bool merges_exactly() const override { return kExact || !C::uses_sum || node_count_.size() <= 2; }

  double score(const std::uint32_t* left_counts, std::size_t rows_left, int direction) override {
    if (node_->constrained) return by_counts_->score(left_counts, rows_left, direction);
    const std::int32_t* all = node_count_.data();
    const std::size_t n_classes = node_count_.size();
    std::int32_t *left = left_count_.data(), *right = right_count_.data(), n_left = 0;
    for (std::size_t k = 0; k < n_classes; ++k) {
      left[k] = static_cast<std::int32_t>(left_counts[k]);
      right[k] = all[k] - left[k];
      n_left += left[k];
    }
    if (!node_->allows(n_left, rows_left)) return -std::numeric_limits<double>::infinity();
    if (n_classes == 2)
      return criterion_.score(summary(left[0], left[1]), summary(right[0], right[1]));
    return criterion_.score(summary(left_count_), summary(right_count_));
  }

 private:
  using Sum = typename C::Sum;
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

  // A side's summary from its class counts.
  Summary<Sum> summary(std::span<const std::int32_t> counts) const {
    if constexpr (TwoClassCriterion<C>)
      return C::summary(counts[0], counts.size() > 1 ? counts[1] : 0);
    std::int32_t n = 0, max = 0;
    Sum sum = 0;
    for (const std::int32_t count : counts) {
      n += count;
      if constexpr (C::uses_sum) sum += criterion_.step(0, count);
      if constexpr (C::uses_max) max = std::max(max, count);
    }
    Summary<Sum> out{static_cast<double>(n), sum, static_cast<double>(max)};
    if constexpr (kUsesMin<C>) {
      const Least least = Least::of(counts);
      out.min = least.count;
      out.n_min = least.n_classes;
    }
    return out;
  }

  Summary<Sum> summary(std::int32_t first, std::int32_t second) const {
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

  // Two classes: the sums follow from the weight on the left and how much of it is the second's.
  std::size_t sum_two_classes(const Workspace<WholeSample>& e) {
    const auto* entry = e.entry.data();
    std::int32_t *left_n = sums_.left_n.data(), *left_second = sums_.left_second.data();
    std::int32_t n = 0, second = 0;
    std::size_t cut = 0;
    for (std::size_t i = 0; i + 1 < e.size; ++i) {
      const auto weight = static_cast<std::int32_t>(entry[i].weight);
      n += weight;
      second += entry[i].label ? weight : 0;
      left_n[cut] = n;
      left_second[cut] = second;
      cut += entry[i].code != entry[i + 1].code;
    }
    return cut;
  }

  double score_two_classes(std::size_t first, std::size_t last) {
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
  std::size_t sum_classes(const Workspace<WholeSample>& e) {
    constexpr bool backward = C::uses_max || (C::uses_sum && !kExact);
    std::fill(left_count_.begin(), left_count_.end(), 0);
    if constexpr (backward) std::fill(back_count_.begin(), back_count_.end(), 0);
    Sum left = 0, right = kExact ? node_sum_ : 0;
    // Plain pointers, which the stores below are known not to change.
    const auto* entry = e.entry.data();
    const std::int32_t* node_count = node_count_.data();
    std::int32_t* left_count = left_count_.data();
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
      const auto weight = static_cast<std::int32_t>(entry[i].weight);
      const std::size_t k = entry[i].label;
      const std::int32_t count = left_count[k];
      left_count[k] = count + weight;
      n += weight;
      left_n[cut] = n;
      if constexpr (C::uses_sum) {
        left += criterion_.step(count, weight);
        left_sum[cut] = left;
      }
      if constexpr (C::uses_sum && kExact) {
        const std::int32_t rest = node_count[k] - count - weight;
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
      cut += entry[i].code != entry[i + 1].code;

      if constexpr (backward) {
        const auto weight_back = static_cast<std::int32_t>(entry[j].weight);
        const std::int32_t count_back = back_count[entry[j].label];
        back_count[entry[j].label] = count_back + weight_back;
        if constexpr (C::uses_sum && !kExact) {
          right += criterion_.step(count_back, weight_back);
          right_sum[cut_back] = right;
        }
        if constexpr (C::uses_max) {
          max_right = std::max(max_right, count_back + weight_back);
          right_max[cut_back] = max_right;
        }
        cut_back -= entry[j].code != entry[j - 1].code;
      }
    }
    sums_.shift = e.size + 1 - cut;
    return cut;
  }

  double score_classes(std::size_t first, std::size_t last) {
    const auto n = static_cast<std::int32_t>(node_->counts.n);
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
  double score_all(std::size_t first, std::size_t last, const ScoreOf& score_of) {
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
  Range allowed(const Workspace<WholeSample>& e, std::size_t first, std::size_t last) const {
    const NodeContext& node = *node_;
    if (node.min_rows > 1) {  // then an entry is one row, or all weights are 1
      auto rows_left = [&](std::size_t cut) {
        return e.one_row_each ? entry_before(e.entry.data(), cut) + 1
                              : static_cast<std::size_t>(sums_.left_n[cut]);
      };
      first = first_where(first, last, [&](auto cut) { return rows_left(cut) >= node.min_rows; });
      last = first_where(first, last,
                         [&](auto cut) { return node.n_rows - rows_left(cut) < node.min_rows; });
    }
    if (node.min_weight > 0) {
      while (first < last && sums_.left_n[first] < node.min_weight) ++first;
      while (first < last && node.counts.n - sums_.left_n[last - 1] < node.min_weight) --last;
    }
    return {first, last};
  }

  // The first cut for which `holds`; once it does, it does for all that follow.
  template <class Holds>
  static std::size_t first_where(std::size_t first, std::size_t last, const Holds& holds) {
    while (first < last) {
      const std::size_t middle = first + (last - first) / 2;
      if (holds(middle))
        last = middle;
      else
        first = middle + 1;
    }
    return first;
  }

  const C criterion_;
  const std::unique_ptr<CutScan<WholeSample>> by_counts_;
  RoughScan<C> rough_;
  LaneScan<C> lanes_;
  BinScan<C> bins_;
  bool takes_several_ = false, takes_bins_ = false;
  const NodeContext* node_ = nullptr;
  std::vector<std::int32_t> left_count_, right_count_, back_count_, node_count_;
  Sum node_sum_ = 0;
  Sums sums_;
};

template <SummedCriterion C>
std::unique_ptr<CutScan<WholeSample>> make_sum_scan(const C& criterion,
                                                    std::unique_ptr<CutScan<WholeSample>> by_counts,
                                                    std::size_t n_classes) {
  return std::make_unique<SumScan<C>>(criterion, std::move(by_counts), n_classes);
}

}  // namespace hardwood
