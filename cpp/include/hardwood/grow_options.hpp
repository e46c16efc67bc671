// How far trees grow, and where they look for splits.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace hardwood {

struct SearchOptions {
  std::size_t max_features = 1;
  bool random_cuts = false;        // one random threshold a feature instead of the best
  std::vector<int> monotonic_cst;  // -1, 0, 1 for each feature; empty: none
  double category_smoothing = 0;   // weight of the node's class shares in those of a category

  int direction(std::size_t feature) const {
    return monotonic_cst.empty() ? 0 : monotonic_cst[feature];
  }
};

struct GrowOptions {
  SearchOptions search;
  std::size_t max_depth = std::numeric_limits<std::size_t>::max();
  std::size_t min_rows_split = 2;
  std::size_t min_rows_leaf = 1;
  double min_weight_leaf = 0;
  double min_gain = 0;  // as a share of the whole data's weight
  std::size_t max_leaves = std::numeric_limits<std::size_t>::max();
  int n_threads = 1;  // inside one tree

  bool is_constrained() const { return !search.monotonic_cst.empty(); }
};

}  // namespace hardwood
