// The scan of several features of a node at once.
//
// A RoughCriterion needs sums of 32 bits and single precision to tell which cuts may be the best.
// The features' sums are made two at a time: a class count that was just written takes a while to
// read again, and the other feature's step fills the gap. The sums of all features then stand one
// after the other, and one loop scores them: a list of a few cuts alone would leave most of a
// vector empty, and would have to wait for its own sums to reach memory. Only the cuts that come
// within rounding of the best are scored in double precision, as any other scan does it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "hardwood/criterion.hpp"
#include "hardwood/cut_scan.hpp"

namespace hardwood {

template <SummedCriterion C>
class RoughScan {  // for criteria that cannot compare roughly
 public:
  RoughScan(const C&, std::size_t) {}
  static bool start(const NodeContext&) { return false; }
  static CutScan<WholeSample>::Found best(std::span<const CutScan<WholeSample>::List>, double&) {
    return {};
  }
};

template <RoughCriterion C>
class RoughScan<C> {
 public:
  using List = CutScan<WholeSample>::List;
  using Found = CutScan<WholeSample>::Found;

  RoughScan(const C& criterion, std::size_t n_classes)
      : criterion_(criterion), n_classes_(n_classes) {}

  // False if the node is too large.
  bool start(const NodeContext& node) {
    if (n_classes_ > kMostClasses || node.n_rows > CutScan<WholeSample>::kListRoom ||
        node.counts.n > kLargestRough)
      return false;
    node_ = &node;
    n_ = static_cast<std::int32_t>(node.counts.n);
    node_sum_ = 0;
    for (std::size_t k = 0; k < n_classes_; ++k) {
      node_count_[k] = static_cast<std::int32_t>(node.counts.of_class[k]);
      node_sum_ += node_count_[k] * node_count_[k];
    }
    return true;
  }

  Found best(std::span<const List> lists, double& best_score) {
    find_places(lists);
    if (n_classes_ == 2) {
      for (std::size_t f = 0; f < lists.size(); ++f) sum_two_classes(lists[f], f);
    } else {
      std::size_t f = 0;
      if constexpr (!C::uses_max)
        for (; f + 1 < lists.size(); f += 2) sum_classes(lists[f], lists[f + 1], f);
      for (; f < lists.size(); ++f) sum_classes(lists[f], f);
    }
    close_gaps();
    Tops tops = score();
    if (node_->min_rows > 1 || node_->min_weight > 0) tops = rule_out(lists);

    const auto to_beat = static_cast<float>(best_score);
    if (!any_reaches(tops.data(), just_below(to_beat))) return {};
    const float limit = just_below(std::max(to_beat, *std::ranges::max_element(tops)));
    std::size_t best = 0;
    for (std::size_t j = kFirst; j < end(); j += kAbreast) {
      if (!any_reaches(&score_[j], limit)) continue;
      for (std::size_t place = j; place < std::min(j + kAbreast, end()); ++place) {
        if (score_[place] < limit) continue;
        const double score = exact_score(place);
        if (!(score > best_score)) continue;
        best_score = score;
        best = place;
      }
    }
    if (best == 0) return {};
    const auto list =
        static_cast<std::size_t>(std::ranges::upper_bound(first_, best) - first_.begin() - 1);
    return {list, entry_before(lists[list].entry, best - first_[list])};
  }

 private:
  static constexpr std::size_t kAbreast = 16;
  static constexpr std::size_t kFirst = 1;  // a pass backward writes one place too far
  static constexpr std::size_t kMostClasses = 64;
  // No list has more cuts than entries less one, and all have one place more than cuts.
  static constexpr std::size_t kPlaces = CutScan<WholeSample>::kListRoom + kFirst + kAbreast;
  using Tops = std::array<float, kAbreast>;  // the best of every sixteenth cut

  static bool any_reaches(const float* scores, float limit) {
    bool any = false;
    for (std::size_t l = 0; l < kAbreast; ++l) any |= scores[l] >= limit;
    return any;
  }

  // Where the cuts of each list go: one after the other, with a place between two lists for what
  // passes write before they know that there are no more cuts.
  void find_places(std::span<const List> lists) {
    first_.assign(1, kFirst);
    for (const List& list : lists) {
      std::size_t n_cuts = 0;
      for (std::size_t i = 0; i + 1 < list.size; ++i)
        n_cuts += list.entry[i].code != list.entry[i + 1].code;
      first_.push_back(first_.back() + n_cuts + 1);
    }
  }

  // A list on its way through a pass.
  struct Pass {
    const Entry<std::uint32_t>* entry;
    std::size_t cut;
    std::int32_t n = 0, left = 0, cross = 0, max = 0;
  };

  // One step forward: adds an entry to the left. The sum of the right side need not be kept up, as
  // Σ (N_k - n_k)² = Σ N_k² - 2 Σ N_k n_k + Σ n_k²; cross_ is Σ N_k n_k.
  void advance(Pass& pass, std::size_t i, std::int32_t* counts) {
    const Entry<std::uint32_t> entry = pass.entry[i];
    const auto weight = static_cast<std::int32_t>(entry.weight);
    const std::int32_t count = counts[entry.label];
    counts[entry.label] = count + weight;
    pass.n += weight;
    pass.left += C::rough_step(count, weight);
    pass.cross += weight * node_count_[entry.label];
    left_n_[pass.cut] = pass.n;
    left_[pass.cut] = pass.left;
    cross_[pass.cut] = pass.cross;
    if constexpr (C::uses_max) {
      pass.max = std::max(pass.max, count + weight);
      left_max_[pass.cut] = pass.max;
    }
    pass.cut += entry.code != pass.entry[i + 1].code;
  }

  // One step backward: adds an entry to the right, for its largest count.
  void retreat(Pass& pass, std::size_t i, std::int32_t* counts) {
    const Entry<std::uint32_t> entry = pass.entry[i];
    const std::int32_t count = counts[entry.label] + static_cast<std::int32_t>(entry.weight);
    counts[entry.label] = count;
    pass.max = std::max(pass.max, count);
    right_max_[pass.cut] = pass.max;
    pass.cut -= entry.code != pass.entry[i - 1].code;
  }

  void sum_classes(const List& list, std::size_t f) {
    counts_.fill(0);
    Pass forward{list.entry, first_[f]}, backward{list.entry, first_[f + 1] - 2};
    for (std::size_t i = 0, j = list.size - 1; i + 1 < list.size; ++i, --j) {
      advance(forward, i, counts_.data());
      if constexpr (C::uses_max) retreat(backward, j, counts_.data() + kMostClasses);
    }
  }

  // Two lists, in turn.
  void sum_classes(const List& one, const List& other, std::size_t f) {
    counts_.fill(0);
    std::int32_t *counts = counts_.data(), *other_counts = counts + kMostClasses;
    Pass of_one{one.entry, first_[f]}, of_other{other.entry, first_[f + 1]};
    const std::size_t of_both = std::min(one.size, other.size) - 1;
    for (std::size_t i = 0; i < of_both; ++i) {
      advance(of_one, i, counts);
      advance(of_other, i, other_counts);
    }
    for (std::size_t i = of_both; i + 1 < one.size; ++i) advance(of_one, i, counts);
    for (std::size_t i = of_both; i + 1 < other.size; ++i) advance(of_other, i, other_counts);
  }

  // Two classes: all sums follow from the weight on the left and how much of it is the second's.
  void sum_two_classes(const List& list, std::size_t f) {
    std::int32_t n = 0, second = 0;
    std::size_t cut = first_[f];
    for (std::size_t i = 0; i + 1 < list.size; ++i) {
      const auto entry = list.entry[i];
      const auto weight = static_cast<std::int32_t>(entry.weight);
      n += weight;
      second += entry.label ? weight : 0;
      left_n_[cut] = n;
      left_[cut] = second;
      cut += entry.code != list.entry[i + 1].code;
    }
  }

  // Puts the cut before a gap into the gap, which then can never be the first of the best ones, and
  // the last cut into the places that fill up the last vector.
  void close_gaps() {
    auto close = [&](std::size_t gap, std::size_t size) {
      auto copy = [=](auto& of_cuts) { std::fill_n(&of_cuts[gap], size, of_cuts[gap - 1]); };
      copy(left_n_);
      copy(left_);
      copy(cross_);
      if constexpr (C::uses_max) {
        copy(left_max_);
        copy(right_max_);
      }
    };
    for (std::size_t f = 1; f < first_.size(); ++f) close(first_[f] - 1, 1);
    close(end(), kAbreast);
  }

  std::size_t end() const { return first_.back(); }

  struct Sides {
    RoughSide left, right;
  };
  Sides sides(std::size_t place) const {
    const std::int32_t n = left_n_[place], left = left_[place];
    const std::int32_t right = (node_sum_ - cross_[place]) + (left - cross_[place]);
    if constexpr (C::uses_max)
      return {{n, left, left_max_[place]}, {n_ - n, right, right_max_[place]}};
    return {{n, left, 0}, {n_ - n, right, 0}};
  }
  Sides sides_of_two_classes(std::size_t place) const {
    auto side = [](std::int32_t first, std::int32_t second) {
      return RoughSide{first + second, first * first + second * second, std::max(first, second)};
    };
    const std::int32_t second = left_[place], first = left_n_[place] - second;
    return {side(first, second), side(node_count_[0] - first, node_count_[1] - second)};
  }

  Tops score() {
    return n_classes_ == 2
               ? score([this](std::size_t place) { return sides_of_two_classes(place); })
               : score([this](std::size_t place) { return sides(place); });
  }
  template <class SidesOf>
  Tops score(const SidesOf& sides_of) {
    Tops tops;
    tops.fill(-std::numeric_limits<float>::infinity());
    float* scores = score_.data();
    for (std::size_t j = kFirst; j < end(); j += kAbreast) {
      for (std::size_t l = 0; l < kAbreast; ++l) {
        const auto [left, right] = sides_of(j + l);
        scores[j + l] = criterion_.rough_score(left, right);
      }
      for (std::size_t l = 0; l < kAbreast; ++l)
        tops[l] = scores[j + l] > tops[l] ? scores[j + l] : tops[l];
    }
    return tops;
  }

  double exact_score(std::size_t place) const {
    const auto [left, right] = n_classes_ == 2 ? sides_of_two_classes(place) : sides(place);
    auto summary = [](RoughSide side) {
      return Summary<typename C::Sum>{static_cast<double>(side.n), side.sum,
                                      static_cast<double>(side.max)};
    };
    return criterion_.score(summary(left), summary(right));
  }

  // Takes out the cuts that leave too little on a side.
  Tops rule_out(std::span<const List> lists) {
    for (std::size_t f = 0; f < lists.size(); ++f) {
      std::size_t place = first_[f];
      for (std::size_t i = 0; i + 1 < lists[f].size; ++i) {
        if (lists[f].entry[i].code == lists[f].entry[i + 1].code) continue;
        const std::int32_t n = left_n_[place];
        // Where rows are counted (min_rows > 1), an entry is one row, or all weights are 1.
        std::size_t rows = node_->min_rows;
        if (rows > 1) rows = lists[f].one_row_each ? i + 1 : static_cast<std::size_t>(n);
        if (!node_->allows(n, rows)) score_[place] = -std::numeric_limits<float>::infinity();
        ++place;
      }
      score_[place] = score_[place - 1];
    }
    std::fill_n(score_.data() + end(), kAbreast, -std::numeric_limits<float>::infinity());
    Tops tops;
    tops.fill(-std::numeric_limits<float>::infinity());
    for (std::size_t j = kFirst; j < end(); j += kAbreast)
      for (std::size_t l = 0; l < kAbreast; ++l) tops[l] = std::max(tops[l], score_[j + l]);
    return tops;
  }

  // Arrays of fixed size, as the passes are short of registers for where they are.
  template <class T>
  using ByPlace = std::array<T, kPlaces>;

  const C& criterion_;
  const std::size_t n_classes_;
  const NodeContext* node_ = nullptr;
  std::int32_t n_ = 0, node_sum_ = 0;
  std::array<std::int32_t, kMostClasses> node_count_{};
  std::array<std::int32_t, 2 * kMostClasses> counts_{};  // of two passes
  std::vector<std::size_t> first_;                       // cut of each list; one more than lists
  // For two classes, left_ is the second class's weight on the left.
  ByPlace<std::int32_t> left_n_{}, left_{}, cross_{}, left_max_{}, right_max_{};
  ByPlace<float> score_{};
};

}  // namespace hardwood
