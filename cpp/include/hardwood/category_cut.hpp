// The best set of categories of one feature in one node.
//
// If the node has two classes, the categories are put in the order of their shares of one class.
// For every concave impurity, a cut of this order is the best of all sets (Breiman et al. 1984). If
// it has more classes, all sets of a few categories are tried. Of many categories, several orders
// are cut: by the share of each class, and along the first principal component of the shares. The
// scan of cuts is the one that thresholds have, so a criterion knows nothing of categories.
//
// Missing values are a category here. Before they are compared, the shares of a category of weight
// w are smoothed by the node's, P: (w_k + a P_k) / (w + a).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hardwood/cut.hpp"
#include "hardwood/cut_scan.hpp"
#include "hardwood/order.hpp"

namespace hardwood {

template <class Sample>
class CategoryCut {
 public:
  CategoryCut(std::size_t n_classes, double smoothing)
      : smoothing_(smoothing), ordered_(0), left_((kAllSets + 1) * n_classes) {}

  void make_room(std::size_t n_samples) { ordered_.make_room(n_samples + 1); }

  // Improves on `cut` if some set of the feature can. The entries are in the order of the codes;
  // `may_merge` allows entries of several rows.
  void look_at(std::uint32_t feature, const Workspace<Sample>& entries, const NodeContext& node,
               bool may_merge, CutScan<Sample>& scan, Cut& cut) {
    feature_ = feature;
    find_categories(entries);
    find_classes(node);
    if (classes_.size() == 2)
      cut_two_classes(entries, node, may_merge, scan, cut);
    else if (categories_.size() <= kAllSets)
      try_all_sets(entries, node, scan, cut);
    else
      cut_orders(entries, node, scan, cut);
  }

 private:
  using Weight = typename Sample::Weight;
  static constexpr std::size_t kAllSets = 7;  // categories of which all sets are tried
  static constexpr int kPowerSteps = 8;       // towards the principal component

  // A category in the node: its entries and their weight.
  struct Category {
    std::uint16_t code;
    std::uint32_t begin, end;
    double weight;
  };

  // A category by what it is ordered by.
  struct Ranked {
    double key;
    std::uint32_t category;
    bool operator<(const Ranked& other) const {
      return key != other.key ? key < other.key : category < other.category;
    }
  };

  void find_categories(const Workspace<Sample>& e) {
    categories_.clear();
    for (std::uint32_t i = 0; i < e.size;) {
      Category category{e.entry[i].code, i, i, 0};
      for (; i < e.size && e.entry[i].code == category.code; ++i)
        category.weight += static_cast<double>(e.entry[i].weight);
      category.end = i;
      categories_.push_back(category);
    }
    ranked_.resize(categories_.size());
  }

  void find_classes(const NodeContext& node) {
    classes_.clear();
    for (std::size_t k = 0; k < node.counts.of_class.size(); ++k)
      if (node.counts.of_class[k] > 0) classes_.push_back(static_cast<std::uint16_t>(k));
  }

  // --- two classes ------------------------------------------------------------------------------

  void cut_two_classes(const Workspace<Sample>& e, const NodeContext& node, bool may_merge,
                       CutScan<Sample>& scan, Cut& cut) {
    const std::uint16_t second = classes_[1];
    const double prior = smoothing_ * node.counts.of_class[second] / node.counts.n;
    of_class_.resize(2 * categories_.size());
    for (std::uint32_t j = 0; j < categories_.size(); ++j) {
      const Category& category = categories_[j];
      std::array<Weight, 2> weights{};
      for (std::uint32_t i = category.begin; i < category.end; ++i)
        weights[e.entry[i].label == second] += e.entry[i].weight;
      std::copy(weights.begin(), weights.end(), &of_class_[2 * j]);
      const auto of_second = static_cast<double>(weights[1]);
      ranked_[j] = {(of_second + prior) / (category.weight + smoothing_), j};
    }
    // Two categories have one cut. They keep their order, as where it is found by other means.
    if (ranked_.size() > 2) std::sort(ranked_.begin(), ranked_.end());
    if (may_merge)
      write_merged();
    else
      write_ordered(e);
    take_best(scan, cut);
  }

  // At most one entry for each category and class. Those of no weight are overwritten by the next.
  void write_merged() {
    std::size_t m = 0;
    auto write = [&](std::size_t rank, std::uint16_t label, Weight weight) {
      ordered_.entry[m] = {static_cast<std::uint16_t>(rank), label, weight};
      m += weight > 0;
    };
    for (std::size_t rank = 0; rank < ranked_.size(); ++rank) {
      const Weight* weights = &of_class_[2 * ranked_[rank].category];
      for (std::size_t k = 0; k < 2; ++k) write(rank, classes_[k], weights[k]);
    }
    ordered_.size = m;
    ordered_.one_row_each = false;
  }

  // --- more classes -----------------------------------------------------------------------------

  // Sets that differ only in which side is left are tried once: the last category goes right.
  void try_all_sets(const Workspace<Sample>& e, const NodeContext& node, CutScan<Sample>& scan,
                    Cut& cut) {
    const std::size_t n_classes = node.counts.of_class.size(), n = categories_.size();
    of_class_.assign(n * n_classes, Weight{0});
    for (std::size_t j = 0; j < n; ++j) {
      Weight* counts = of_class_.data() + j * n_classes;
      const Category& category = categories_[j];
      for (std::uint32_t i = category.begin; i < category.end; ++i)
        counts[e.entry[i].label] += e.entry[i].weight;
      // Where rows are counted (min_rows > 1), an entry is one row, or all weights are 1.
      n_rows_[j] = 0;
      if (node.min_rows > 1)
        n_rows_[j] = e.one_row_each ? category.end - category.begin
                                    : static_cast<std::size_t>(category.weight);
    }
    std::uint32_t best = 0;
    std::fill_n(left_.begin(), n_classes, Weight{0});
    // Adds categories from number `first` on to the set, whose counts are left_[size][class].
    auto extend = [&](const auto& self, std::size_t first, std::size_t size, std::uint32_t set,
                      std::size_t rows) -> void {
      const Weight* before = left_.data() + size * n_classes;
      Weight* after = left_.data() + (size + 1) * n_classes;
      for (std::size_t j = first; j + 1 < n; ++j) {
        const Weight* added = of_class_.data() + j * n_classes;
        for (std::size_t k = 0; k < n_classes; ++k) after[k] = before[k] + added[k];
        const std::size_t rows_left = rows + n_rows_[j];
        const double score = scan.score(after, node.min_rows > 1 ? rows_left : 1, 0);
        if (score > cut.score) {
          cut.score = score;
          best = set | 1u << j;
        }
        self(self, j + 1, size + 1, set | 1u << j, rows_left);
      }
    };
    extend(extend, 0, 0, 0, 0);
    if (best == 0) return;
    std::size_t n_left = 0, n_right = 0;
    for (std::uint32_t j = 0; j < n; ++j)
      if (best >> j & 1) ranked_[n_left++].category = j;
    for (std::uint32_t j = 0; j < n; ++j)
      if (!(best >> j & 1)) ranked_[n_left + n_right++].category = j;
    write_ordered(e);
    take(n_left, cut);
  }

  void cut_orders(const Workspace<Sample>& e, const NodeContext& node, CutScan<Sample>& scan,
                  Cut& cut) {
    double largest_variance = -1;
    std::size_t widest = 0;  // the class whose shares vary most
    for (std::size_t k = 0; k < classes_.size() && !cut.perfect; ++k) {
      const double variance = rank_by_share(classes_[k], e, node);
      if (variance > largest_variance) {
        largest_variance = variance;
        widest = classes_[k];
      }
      cut_order(e, scan, cut);
    }
    if (cut.perfect) return;
    rank_by_component(widest, e, node);
    cut_order(e, scan, cut);
  }

  void cut_order(const Workspace<Sample>& e, CutScan<Sample>& scan, Cut& cut) {
    std::sort(ranked_.begin(), ranked_.end());
    write_ordered(e);
    take_best(scan, cut);
  }

  // Returns Σ w (share - P)².
  double rank_by_share(std::uint16_t label, const Workspace<Sample>& e, const NodeContext& node) {
    const double share = node.counts.of_class[label] / node.counts.n;
    double variance = 0;
    for (std::uint32_t j = 0; j < categories_.size(); ++j) {
      const Category& category = categories_[j];
      double weight = 0;
      for (std::uint32_t i = category.begin; i < category.end; ++i)
        weight += e.entry[i].label == label ? static_cast<double>(e.entry[i].weight) : 0.0;
      const double key = (weight + smoothing_ * share) / (category.weight + smoothing_);
      ranked_[j] = {key, j};
      variance += category.weight * (key - share) * (key - share);
    }
    return variance;
  }

  // The deviations of category j are d_jk = (w_jk - w_j P_k) / (w_j + a). The principal component v
  // is the eigenvector of Σ_j w_j d_j d_jᵀ with the largest eigenvalue, and t_j = d_j · v. A power
  // step is v_k ← Σ_j w_j t_j d_jk = Σ_j c_j w_jk - P_k Σ_j c_j w_j, with c_j = w_j t_j / (w_j +
  // a).
  void rank_by_component(std::size_t start, const Workspace<Sample>& e, const NodeContext& node) {
    const std::span<const double> counts = node.counts.of_class;
    component_.assign(counts.size(), 0);
    component_[start] = 1;
    for (int step = 0; step <= kPowerSteps; ++step) {
      double mean = 0;  // P · v
      for (const std::uint16_t k : classes_) mean += counts[k] * component_[k];
      mean /= node.counts.n;
      next_.assign(counts.size(), 0);
      double offset = 0;
      for (std::uint32_t j = 0; j < categories_.size(); ++j) {
        const Category& category = categories_[j];
        double sum = 0;
        for (std::uint32_t i = category.begin; i < category.end; ++i)
          sum += static_cast<double>(e.entry[i].weight) * component_[e.entry[i].label];
        const double all = category.weight + smoothing_;
        const double t = (sum - category.weight * mean) / all;
        ranked_[j] = {t, j};
        const double c = category.weight * t / all;
        for (std::uint32_t i = category.begin; i < category.end; ++i)
          next_[e.entry[i].label] += c * static_cast<double>(e.entry[i].weight);
        offset += c * category.weight;
      }
      double largest = 0;
      for (const std::uint16_t k : classes_) {
        next_[k] -= offset * (counts[k] / node.counts.n);
        largest = std::max(largest, std::abs(next_[k]));
      }
      if (!(largest > 0)) return;  // the categories are all alike
      for (const std::uint16_t k : classes_) component_[k] = next_[k] / largest;
    }
  }

  // --- orders -----------------------------------------------------------------------------------

  // The entries in the order of the ranked categories, ranks as codes.
  void write_ordered(const Workspace<Sample>& e) {
    std::size_t m = 0;
    for (std::size_t rank = 0; rank < ranked_.size(); ++rank) {
      const Category& category = categories_[ranked_[rank].category];
      for (std::uint32_t i = category.begin; i < category.end; ++i, ++m) {
        ordered_.entry[m] = e.entry[i];
        ordered_.entry[m].code = static_cast<std::uint16_t>(rank);
      }
    }
    ordered_.size = m;
    ordered_.one_row_each = e.one_row_each;
  }

  void take_best(CutScan<Sample>& scan, Cut& cut) {
    const std::size_t position = scan.best(ordered_, 0, 0, cut.score);
    if (position != kNoCut) take(std::size_t{ordered_.entry[position].code} + 1, cut);
  }

  // The set of the first n_left ranked categories, whose score is in `cut` already.
  void take(std::size_t n_left, Cut& cut) {
    cut = {cut.score, feature_, 0, 0, false, true};
    for (const Ranked& ranked : ranked_) cut.set_codes.push_back(categories_[ranked.category].code);
    cut.n_left_codes = static_cast<std::uint32_t>(n_left);
    const std::span<const Entry<Weight>> entries = ordered_.entries();
    const auto first_right = std::ranges::lower_bound(
        entries, n_left, {}, [](const auto& entry) { return std::size_t{entry.code}; });
    cut.perfect = are_pure(entries, static_cast<std::size_t>(first_right - entries.begin()));
  }

  const double smoothing_;
  std::uint32_t feature_ = 0;
  std::vector<Category> categories_;    // in the node, by code
  std::vector<std::uint16_t> classes_;  // in the node
  std::vector<Ranked> ranked_;
  std::vector<Weight> of_class_;  // [category][class]
  std::array<std::size_t, kAllSets> n_rows_{};
  Workspace<Sample> ordered_;
  std::vector<Weight> left_;  // [size of a set][class]
  std::vector<double> component_, next_;
};

}  // namespace hardwood
