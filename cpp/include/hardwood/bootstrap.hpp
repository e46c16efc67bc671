// Which rows a tree sees, and how often.
//
// The draws of tree i come from a stream of their own, so that the rows out of its bag can be told
// again later from the seed alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "hardwood/parallel.hpp"
#include "hardwood/rng.hpp"

namespace hardwood {

// Tree i grows from stream 2i and draws its rows from stream 2i + 1.
inline Rng growth_stream(std::uint64_t seed, std::size_t tree) { return Rng(seed, 2 * tree); }
inline Rng bootstrap_stream(std::uint64_t seed, std::size_t tree) {
  return Rng(seed, 2 * tree + 1);
}

// Draws rows with replacement, in proportion to their weights where given (Walker's alias method).
class Bootstrap {
 public:
  Bootstrap(std::size_t n_rows, std::size_t n_draws, std::span<const double> weights)
      : n_rows_(n_rows),
        n_draws_(n_draws),
        most_expected_(static_cast<double>(n_draws) / static_cast<double>(n_rows)) {
    if (!weights.empty()) build_alias_table(weights);
  }

  // How often each row is drawn for the tree.
  std::vector<std::uint32_t> draw(std::uint64_t seed, std::size_t tree) const {
    std::vector<std::uint32_t> times(n_rows_, 0);
    Rng rng = bootstrap_stream(seed, tree);
    const auto n = static_cast<std::uint32_t>(n_rows_);
    if (alias_.empty()) {
      for (std::size_t i = 0; i < n_draws_; ++i) ++times[rng.below(n)];
      return times;
    }
    for (std::size_t i = 0; i < n_draws_; ++i) {
      const std::uint32_t row = rng.below(n);
      ++times[rng.unit() < keep_[row] ? row : alias_[row]];
    }
    return times;
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
  double most_expected() const { return most_expected_; }

 private:
  void build_alias_table(std::span<const double> weights) {
    const double mean =
        std::accumulate(weights.begin(), weights.end(), 0.0) / static_cast<double>(n_rows_);
    most_expected_ *= *std::max_element(weights.begin(), weights.end()) / mean;
    keep_.resize(n_rows_);
    alias_.resize(n_rows_);
    std::vector<std::uint32_t> light, heavy;
    for (std::uint32_t i = 0; i < n_rows_; ++i) {
      keep_[i] = weights[i] / mean;
      alias_[i] = i;
      (keep_[i] < 1 ? light : heavy).push_back(i);
    }
    while (!light.empty() && !heavy.empty()) {
      const std::uint32_t poor = light.back(), rich = heavy.back();
      light.pop_back();
      alias_[poor] = rich;
      keep_[rich] -= 1 - keep_[poor];
      if (keep_[rich] < 1) {
        heavy.pop_back();
        light.push_back(rich);
      }
    }
    // What rounding left over keeps its own row.
    for (const std::uint32_t i : light) keep_[i] = 1;
  }

  std::size_t n_rows_, n_draws_;
  double most_expected_;
  std::vector<double> keep_;
  std::vector<std::uint32_t> alias_;
};

}  // namespace hardwood
