// A cut that is given, and need not be searched for: between the only two codes, at a random
// threshold, or by a random set of categories.
//
// All there is to do is to count what it sends left.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "hardwood/codes.hpp"
#include "hardwood/cut.hpp"
#include "hardwood/cut_scan.hpp"
#include "hardwood/grow_options.hpp"
#include "hardwood/order.hpp"
#include "hardwood/rng.hpp"
#include "hardwood/sparse_node.hpp"
#include "hardwood/threshold.hpp"

namespace hardwood {

// One a thread.
template <class Sample>
class GivenCut {
 public:
  using Weight = typename Sample::Weight;

  // The samples of a node as entries.
  struct Entries {
    std::span<const Entry<Weight>> entries;
    bool one_row_each;
  };

  // The scan must live as long as this.
  GivenCut(const Codes& codes, const SearchOptions& options, std::size_t n_classes,
           CutScan<Sample>& scan)
      : codes_(codes),
        options_(options),
        n_classes_(n_classes),
        scan_(scan),
        counts_(4 * n_classes) {
    if (std::ranges::any_of(codes.columns, &Column::is_category))
      is_left_.resize(most_codes(codes));
  }

  void start_tree(bool unit_weights) { unit_weights_ = unit_weights; }

  void start_node(std::span<const Sample> samples, const NodeContext& node) {
    samples_ = samples;
    node_ = &node;
  }

  // One cut alone: counts what it sends left, by is_left_ if it is a set. True if it was taken.
  bool take(Cut candidate, const std::uint16_t* codes, Cut& cut, bool is_set = false) {
    // Four sets of counts, as the next sample of a class need not wait for the last one then; one
    // for a few samples, where clearing four would take longer.
    constexpr std::size_t most_sets = 4;
    const std::size_t n = samples_.size(), n_classes = n_classes_;
    const std::size_t n_sets = kWhole<Sample> && n < kFewSamples ? 1 : most_sets;
    Weight* counts = counts_.data();
    std::fill_n(counts, n_sets * n_classes, Weight{0});
    std::size_t rows = 0;
    auto count = [&](const auto& goes_left) {
      const Sample* samples = samples_.data();
      auto add = [&](std::size_t i, Weight* set) {
        const bool left = goes_left(codes[i]);
        set[samples[i].label] += static_cast<Weight>(left) * samples[i].weight;
        rows += left;
      };
      std::size_t i = 0;
      if (n_sets == most_sets)
        for (; i + most_sets <= n; i += most_sets)
          for (std::size_t j = 0; j < most_sets; ++j) add(i + j, counts + j * n_classes);
      for (; i < n; ++i) add(i, counts + (i & (n_sets - 1)) * n_classes);
    };
    const std::uint32_t last = candidate.last_left;
    const std::uint32_t missing = codes_.columns[candidate.feature].n_codes;
    if (is_set)
      count([&](std::uint32_t code) { return is_left_[code] != 0; });
    else if (candidate.missing_left)
      count([&](std::uint32_t code) { return (code <= last) | (code == missing); });
    else
      count([&](std::uint32_t code) { return code <= last; });
    if (n_sets == most_sets)
      for (std::size_t k = 0; k < n_classes; ++k)
        for (std::size_t set = 1; set < most_sets; ++set) counts[k] += counts[set * n_classes + k];
    return take_counted(candidate, rows, cut);
  }

  // The same from entries.
  bool take(Cut candidate, const Entries& list, Cut& cut, bool is_set = false) {
    const std::uint32_t missing = codes_.columns[candidate.feature].n_codes;
    std::fill_n(counts_.data(), n_classes_, Weight{0});
    std::size_t rows = 0;
    for (const auto& entry : list.entries) {
      const bool left = is_set ? is_left_[entry.code] != 0
                               : (entry.code <= candidate.last_left) |
                                     (candidate.missing_left & (entry.code == missing));
      const Weight weight = left ? entry.weight : Weight{0};
      counts_[entry.label] += weight;
      rows += list.one_row_each ? left : static_cast<std::size_t>(weight);
    }
    // Where weights are not rows, nobody counts these but to see that there are some.
    if (!list.one_row_each && !unit_weights_) rows = 1;
    return take_counted(candidate, rows, cut);
  }

  // The same from the samples whose code is not the common one, with whole weights.
  bool take(Cut candidate, std::span<const SampleCode> listed, Cut& cut) {
    const SparseField column = codes_.sparse_fields[candidate.feature];
    auto goes_left = [&](std::uint32_t code) {
      return (code <= candidate.last_left) | (candidate.missing_left & (code == column.n_codes));
    };
    // What goes left, or what goes right where the common code goes left.
    const bool common_left = listed.size() < samples_.size() && goes_left(column.common);
    Weight* counts = counts_.data();
    std::fill_n(counts, n_classes_, Weight{0});
    std::size_t rows = 0;
    for (const SampleCode& other : listed) {
      const bool counted = goes_left(other.code) != common_left;
      counts[samples_[other.sample].label] +=
          static_cast<Weight>(counted) * samples_[other.sample].weight;
      rows += counted;
    }
    if (common_left) {
      for (std::size_t k = 0; k < n_classes_; ++k)
        counts[k] = static_cast<Weight>(node_->counts.of_class[k]) - counts[k];
      rows = samples_.size() - rows;
    }
    return take_counted(candidate, rows, cut);
  }

  // The cut after the first of two codes, from the entries, which may be merged.
  void take_first_code(std::uint32_t feature, std::span<const Entry<Weight>> entries, Cut& cut) {
    std::fill_n(counts_.data(), n_classes_, Weight{0});
    std::size_t rows = 0;
    const std::uint16_t first = entries[0].code;
    for (std::size_t i = 0; entries[i].code == first; ++i) {
      counts_[entries[i].label] += entries[i].weight;
      rows += static_cast<std::size_t>(entries[i].weight);
    }
    // Where weights are not rows, nobody counts these but to see that there are some.
    if (!unit_weights_) rows = 1;
    Cut candidate{0, feature, first, first + 1u, false, true};
    take_counted(candidate, rows, cut);
  }

  // A set that has each category of the node with a probability of one half, but neither none nor
  // all. `unit` is where its random numbers come from.
  template <class Listed>
  void take_random_set(std::uint32_t feature, const Listed& codes, double unit, Cut& cut) {
    present_.clear();
    note_present(codes);
    std::ranges::sort(present_);
    Rng rng(std::bit_cast<std::uint64_t>(unit), feature);
    std::size_t n_left = 0;
    do {
      std::uint64_t bits = 0;
      n_left = 0;
      for (std::size_t j = 0; j < present_.size(); ++j) {
        bits = j % 64 == 0 ? rng.next() : bits >> 1;
        is_left_[present_[j]] = bits & 1;
        n_left += bits & 1;
      }
    } while (n_left == 0 || n_left == present_.size());
    if (take({0, feature, 0, 0, false, true}, codes, cut, true)) {
      std::ranges::stable_partition(present_, [&](auto code) { return is_left_[code] != 0; });
      cut.set_codes = present_;
      cut.n_left_codes = static_cast<std::uint32_t>(n_left);
    }
    for (const std::uint16_t code : present_) is_left_[code] = 0;
  }

  // A threshold uniform in `unit` between the smallest and the largest value, or, where only
  // missing values differ, the split of missing from known. Missing values go where they gain more.
  template <class Listed>
  void take_random_threshold(std::uint32_t feature, const Listed& codes, CodeRange range,
                             bool missing, double unit, Cut& cut) {
    const Column& column = codes_.columns[feature];
    const std::uint32_t last = missing ? last_known(column, codes, range.first) : range.last;
    Cut candidate{0, feature, last, column.n_codes, false, true};
    if (range.first < last) place_at_random(column, {range.first, last}, unit, candidate);
    take(candidate, codes, cut);
    if (!missing || candidate.last_left == last) return;
    candidate.missing_left = true;
    take(candidate, codes, cut);
  }

 private:
  static constexpr std::size_t kFewSamples = 32;

  void note_present(std::uint16_t code) {
    if (is_left_[code]) return;
    is_left_[code] = 1;
    present_.push_back(code);
  }
  void note_present(const std::uint16_t* codes) {
    for (std::size_t i = 0; i < samples_.size(); ++i) note_present(codes[i]);
  }
  void note_present(const Entries& list) {
    for (const auto& entry : list.entries) note_present(entry.code);
  }

  // Takes the cut whose counts on the left are in counts_, if it is better.
  bool take_counted(Cut& candidate, std::size_t rows, Cut& cut) {
    candidate.score = scan_.score(counts_.data(), rows, options_.direction(candidate.feature));
    if (!(candidate.score > cut.score)) return false;
    cut = std::move(candidate);
    cut.perfect = is_perfect();
    return true;
  }

  // Whether the split that sends counts_ left has one class on either side.
  bool is_perfect() const {
    std::size_t left = 0, right = 0;
    for (std::size_t k = 0; k < n_classes_; ++k) {
      left += counts_[k] > 0;
      right += static_cast<double>(counts_[k]) < node_->counts.of_class[k];
    }
    return left == 1 && right == 1;
  }

  // The largest code in the node that is not the missing value's; at least `first`.
  std::uint32_t last_known(const Column& column, const std::uint16_t* codes,
                           std::uint32_t first) const {
    for (std::size_t i = 0; i < samples_.size(); ++i)
      if (codes[i] != column.n_codes) first = std::max<std::uint32_t>(first, codes[i]);
    return first;
  }

  static std::uint32_t last_known(const Column& column, const Entries& list, std::uint32_t first) {
    for (const auto& entry : list.entries)
      if (entry.code != column.n_codes) first = std::max<std::uint32_t>(first, entry.code);
    return first;
  }

  std::uint32_t last_known(const Column& column, std::span<const SampleCode> listed,
                           std::uint32_t first) const {
    if (listed.size() < samples_.size()) first = std::max(first, column.common);
    for (const SampleCode& other : listed)
      if (other.code != column.n_codes) first = std::max<std::uint32_t>(first, other.code);
    return first;
  }

  const Codes& codes_;
  const SearchOptions& options_;
  const std::size_t n_classes_;
  CutScan<Sample>& scan_;
  bool unit_weights_ = true;
  std::span<const Sample> samples_;
  const NodeContext* node_ = nullptr;
  std::vector<Weight> counts_;
  // For columns of categories.
  std::vector<std::uint8_t> is_left_;  // by code, all zero between uses
  std::vector<std::uint16_t> present_;
};

}  // namespace hardwood
