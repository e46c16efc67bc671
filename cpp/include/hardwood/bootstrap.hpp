// Which rows a tree sees, and how often.
//
// The draws of tree i come from a stream of their own, so that the rows out of its bag can be told
// again later from the seed alone. Rows may form groups, such as the copies of one observation:
// then whole groups are drawn, and a row is out of the bag if its group was not drawn.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "hardwood/parallel.hpp"
#include "hardwood/rng.hpp"
#include "hardwood/unit_draws.hpp"

namespace hardwood {

// Tree i grows from stream 2i and draws its rows by the key that stream 2i + 1 gives.
inline Rng growth_stream(std::uint64_t seed, std::size_t tree) { return Rng(seed, 2 * tree); }
inline std::uint64_t draw_key(std::uint64_t seed, std::size_t tree) {
  return Rng(seed, 2 * tree + 1).next();
}

// The weight of a group's draws, from the sum of its rows'.
inline std::uint32_t mean_weight(std::uint64_t sum, std::size_t n_rows) {
  return static_cast<std::uint32_t>((sum + n_rows / 2) / n_rows);
}

// Draws units with replacement, in proportion to their weights where given. A unit is a row or,
// where groups[row] numbers them from 0, a group of rows.
class Bootstrap {
 public:
  Bootstrap(std::size_t n_rows, std::size_t n_draws, std::span<const double> weights,
            std::span<const std::uint32_t> groups = {})
      : groups_(groups), units_(units_of(n_rows, n_draws, weights, groups)) {
    if (!groups.empty()) {
      const std::vector<std::size_t> sizes = sizes_of(groups);
      largest_ = *std::max_element(sizes.begin(), sizes.end());
    }
  }

  // How often each row is drawn for the tree.
  std::vector<std::uint32_t> draw(std::uint64_t seed, std::size_t tree) const {
    auto times = units_.draw(draw_key(seed, tree), 0, units_.n_units());
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

  // Of the row drawn most often, how often to expect it, or a little more.
  double most_expected() const {
    const auto n_draws = static_cast<double>(units_.n_draws());
    return units_.is_weighted()
               ? n_draws * kHeaviestDraw / static_cast<double>(units_.total_weight())
               : n_draws / static_cast<double>(units_.n_units());
  }

  // The most that the rows drawn for a tree can weigh together.
  double largest_total() const {
    return static_cast<double>(units_.n_draws()) * static_cast<double>(largest_);
  }

 private:
  static UnitDraws units_of(std::size_t n_rows, std::size_t n_draws,
                            std::span<const double> weights,
                            std::span<const std::uint32_t> groups) {
    if (!groups.empty() && groups.size() != n_rows)
      throw std::invalid_argument("groups must have as many entries as X has rows");
    const std::size_t n_units = groups.empty() ? n_rows : sizes_of(groups).size();
    if (weights.empty()) return UnitDraws(n_units, n_draws);
    const double largest = *std::max_element(weights.begin(), weights.end());
    std::vector<std::uint32_t> of_units(n_rows);
    std::transform(weights.begin(), weights.end(), of_units.begin(),
                   [&](double weight) { return draw_weight(weight, largest); });
    if (!groups.empty()) of_units = mean_weights(of_units, groups);
    return UnitDraws(n_units, n_draws, UnitDraws::block_weights(of_units), of_units);
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
  static std::vector<std::uint32_t> mean_weights(std::span<const std::uint32_t> weights,
                                                 std::span<const std::uint32_t> groups) {
    const std::vector<std::size_t> sizes = sizes_of(groups);
    std::vector<std::uint64_t> sums(sizes.size(), 0);
    for (std::size_t row = 0; row < groups.size(); ++row) sums[groups[row]] += weights[row];
    std::vector<std::uint32_t> means(sizes.size());
    for (std::size_t group = 0; group < sizes.size(); ++group)
      means[group] = mean_weight(sums[group], sizes[group]);
    return means;
  }

  std::span<const std::uint32_t> groups_;  // of the rows; the caller's
  UnitDraws units_;
  std::size_t largest_ = 1;  // unit, in rows
};

}  // namespace hardwood
