// Which rows a tree sees, and how often.
//
// The draws of tree i come from a stream of their own, so that the rows out of its bag can be told
// again later from the seed alone. Rows may form groups, such as the copies of one observation:
// then whole groups are drawn, and a row is out of the bag if its group was not drawn.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <stdexcept>
#include <vector>

#include "hardwood/parallel.hpp"
#include "hardwood/rng.hpp"

namespace hardwood {

// Tree i grows from stream 2i and draws its rows from stream 2i + 1.
inline Rng growth_stream(std::uint64_t seed, std::size_t tree) { return Rng(seed, 2 * tree); }
// The seed whose tree 0 grows from the same stream as this tree.
inline std::uint64_t seed_of_tree(std::uint64_t seed, std::size_t tree) {
  return Rng::seed_of_stream(seed, 2 * tree);
}
inline Rng bootstrap_stream(std::uint64_t seed, std::size_t tree) {
  return Rng(seed, 2 * tree + 1);
}

// Draws units with replacement, in proportion to their weights where given (Walker's alias method).
// A unit is a row or, where groups[row] numbers them from 0, a group of rows.
class Bootstrap {
 public:
  Bootstrap(std::size_t n_rows, std::size_t n_draws, std::span<const double> weights,
            std::span<const std::uint32_t> groups = {})
      : groups_(groups), n_units_(n_rows), n_draws_(n_draws) {
    if (groups.empty()) {
      if (!weights.empty()) build_alias_table(weights);
      return;
    }
    if (groups.size() != n_rows)
      throw std::invalid_argument("groups must have as many entries as X has rows");
    const std::vector<std::size_t> sizes = sizes_of(groups);
    n_units_ = sizes.size();
    largest_ = *std::max_element(sizes.begin(), sizes.end());
    if (!weights.empty()) build_alias_table(mean_weights_of(weights, groups, sizes));
  }

  // How often each row is drawn for the tree.
  std::vector<std::uint32_t> draw(std::uint64_t seed, std::size_t tree) const {
    const auto times = draw_units(seed, tree);
    if (groups_.empty()) return times;
    std::vector<std::uint32_t> of_rows(groups_.size());
    for (std::size_t row = 0; row < of_rows.size(); ++row) of_rows[row] = times[groups_[row]];
    return of_rows;
  }

  // [tree][i]: whether rows[i] is drawn for the tree, from number first_tree on.
  std::vector<std::vector<bool>> drawn(std::uint64_t seed, std::size_t first_tree,
                                       std::size_t n_trees, std::span<const std::uint32_t> rows,
                                       int n_threads, const Poll& poll) const {
    std::vector<std::vector<bool>> drawn(n_trees);
    parallel_for(n_trees, n_threads, poll, [&](std::size_t t, const Poll& own_poll) {
      const auto times = draw(seed, first_tree + t);
      drawn[t].resize(rows.size());
      for (std::size_t i = 0; i < rows.size(); ++i) drawn[t][i] = times[rows[i]] > 0;
      own_poll();
    });
    return drawn;
  }

  // Of the row drawn most often, how often to expect it.
  double most_expected() const {
    return static_cast<double>(n_draws_) / static_cast<double>(n_units_) * most_favoured_;
  }

  // The most that the rows drawn for a tree can weigh together.
  double largest_total() const {
    return static_cast<double>(n_draws_) * static_cast<double>(largest_);
  }

 private:
  // How often each unit is drawn for the tree.
  std::vector<std::uint32_t> draw_units(std::uint64_t seed, std::size_t tree) const {
    std::vector<std::uint32_t> times(n_units_, 0);
    Rng rng = bootstrap_stream(seed, tree);
    const auto n = static_cast<std::uint32_t>(n_units_);
    if (alias_.empty()) {
      for (std::size_t i = 0; i < n_draws_; ++i) ++times[rng.below(n)];
      return times;
    }
    for (std::size_t i = 0; i < n_draws_; ++i) {
      const std::uint32_t unit = rng.below(n);
      ++times[rng.unit() < keep_[unit] ? unit : alias_[unit]];
    }
    return times;
  }

  static std::vector<std::size_t> sizes_of(std::span<const std::uint32_t> groups) {
    std::vector<std::size_t> sizes;
    for (const std::uint32_t group : groups) {
      if (group >= groups.size()) throw std::invalid_argument("groups must be below n_rows");
      if (group >= sizes.size()) sizes.resize(group + 1, 0);
      ++sizes[group];
    }
    if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end())
      throw std::invalid_argument("groups must be numbered from 0 without a gap");
    return sizes;
  }

  // A draw brings all rows of a group. So that they get the weight they ask for, not that weight
  // times their number, a group is drawn in proportion to their mean.
  static std::vector<double> mean_weights_of(std::span<const double> weights,
                                             std::span<const std::uint32_t> groups,
                                             std::span<const std::size_t> sizes) {
    std::vector<double> means(sizes.size(), 0);
    for (std::size_t row = 0; row < groups.size(); ++row) means[groups[row]] += weights[row];
    for (std::size_t group = 0; group < sizes.size(); ++group)
      means[group] /= static_cast<double>(sizes[group]);
    return means;
  }

  // Rounding must not decide: weights in another unit then draw the same rows.
  static bool is_light(double keep) { return keep < 1 - 1e-12; }

  void build_alias_table(std::span<const double> weights) {
    // A power of two near the largest weight: dividing by it is exact, and no sum underflows.
    const double largest = *std::max_element(weights.begin(), weights.end());
    const double scale = std::ldexp(1.0, std::ilogb(largest));
    double sum = 0;
    for (const double weight : weights) sum += weight / scale;
    const double mean = sum / static_cast<double>(n_units_);
    most_favoured_ = largest / scale / mean;
    keep_.resize(n_units_);
    alias_.resize(n_units_);
    std::vector<std::uint32_t> light, heavy;
    for (std::uint32_t i = 0; i < n_units_; ++i) {
      keep_[i] = weights[i] / scale / mean;
      alias_[i] = i;
      (is_light(keep_[i]) ? light : heavy).push_back(i);
    }
    while (!light.empty() && !heavy.empty()) {
      const std::uint32_t poor = light.back(), rich = heavy.back();
      light.pop_back();
      alias_[poor] = rich;
      keep_[rich] -= 1 - keep_[poor];
      if (is_light(keep_[rich])) {
        heavy.pop_back();
        light.push_back(rich);
      }
    }
    // What rounding left over keeps its own unit.
    for (const std::uint32_t i : light) keep_[i] = 1;
  }

  std::span<const std::uint32_t> groups_;  // of the rows; the caller's
  std::size_t n_units_, n_draws_;
  std::size_t largest_ = 1;   // unit, in rows
  double most_favoured_ = 1;  // unit's weight, in means
  std::vector<double> keep_;
  std::vector<std::uint32_t> alias_;
};

}  // namespace hardwood
