// A cut of a node, and what a node allows its cuts to do.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "hardwood/criterion.hpp"

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

  // Whether a cut leaves enough on both sides.
  bool allows(double n_left, std::size_t rows_left) const {
    const double n_right = counts.n - n_left;
    return rows_left >= min_rows && n_rows - rows_left >= min_rows && n_left >= min_weight &&
           n_right >= min_weight && n_right > 0;
  }
};

// The best cut so far: samples with code <= last_left go left; missing ones as it says. Or, where
// the feature has categories, those with a code of the set.
struct Cut {
  double score = -std::numeric_limits<double>::infinity();
  std::uint32_t feature = 0;
  std::uint32_t last_left = 0;
  std::uint32_t first_right = 0;
  bool missing_left = false;
  bool found = false;
  double random_threshold = std::numeric_limits<double>::quiet_NaN();  // where one was drawn
  bool perfect = false;  // both sides are pure: no other cut can be better
  // A cut by a set of categories: the codes in the node, those that go left first.
  std::vector<std::uint16_t> set_codes{};
  std::uint32_t n_left_codes = 0;

  bool is_set() const { return !set_codes.empty(); }
  std::span<const std::uint16_t> left_codes() const {
    return std::span(set_codes).first(n_left_codes);
  }
  std::span<const std::uint16_t> right_codes() const {
    return std::span(set_codes).subspan(n_left_codes);
  }
};

inline double proportion_of_second(Counts side) { return side.of_class[1] / side.n; }

// As in scikit-learn, bounds stop splits on constrained features only. Below a split on another
// feature, the predicted probability is clipped to them (expand.hpp).
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

}  // namespace hardwood
