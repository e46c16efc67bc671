// Where a cut lies between the values of its column.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "hardwood/codes.hpp"
#include "hardwood/cut.hpp"
#include "hardwood/gather.hpp"
#include "hardwood/order.hpp"

namespace hardwood {

// A threshold strictly between two adjacent values, as scikit-learn's: their midpoint.
inline double midpoint(double low, double high) {
  const double middle = low / 2 + high / 2;
  return middle < high ? std::max(middle, low) : low;
}

inline double threshold_of(const Column& column, const Cut& cut) {
  if (cut.first_right == column.n_codes) return std::numeric_limits<double>::infinity();
  const double from = column.high[cut.last_left], to = column.low[cut.first_right];
  // Not where rounding, or a code that stands for a range of values, would part predict from fit.
  const double drawn = cut.random_threshold;
  return drawn >= from && drawn < to ? drawn : midpoint(from, to);
}

// Asks for the two values long before they are needed: the tables of values are seldom in a cache.
inline void prefetch_threshold(const Column& column, const Cut& cut) {
  prefetch(column.high.data() + cut.last_left);
  prefetch(column.low.data() + cut.first_right);
}

// Puts the cut at a threshold between the values of two codes.
inline void place_at_random(const Column& column, CodeRange range, double unit, Cut& cut) {
  const double smallest = column.low[range.first], largest = column.high[range.last];
  // Half and half, as the difference of two finite numbers may not be finite.
  const double threshold = 2 * (smallest / 2 + unit * (largest / 2 - smallest / 2));
  const double* high = column.high.data();
  const double* above = std::upper_bound(high + range.first + 1, high + range.last, threshold);
  cut.last_left = static_cast<std::uint32_t>(above - high) - 1;
  cut.first_right = cut.last_left + 1;
  cut.random_threshold = threshold;
}

}  // namespace hardwood
