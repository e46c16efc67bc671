// Where a cut lies between the values of its column.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
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

// The smallest value of each code: where that is the largest one, too, both values that a cut lies
// between are in one table, close together.
inline const double* lowest_values(const Column& column) {
  return column.is_exact ? column.high.data() : column.low.data();
}

inline double threshold_of(const Column& column, const Cut& cut) {
  if (cut.first_right == column.n_codes) return std::numeric_limits<double>::infinity();
  const double from = column.high[cut.last_left], to = lowest_values(column)[cut.first_right];
  // Not where rounding, or a code that stands for a range of values, would part predict from fit.
  const double drawn = cut.random_threshold;
  return drawn >= from && drawn < to ? drawn : midpoint(from, to);
}

// Asks for the two values long before they are needed: the tables of values are seldom in a cache.
inline void prefetch_threshold(const Column& column, const Cut& cut) {
  prefetch(column.high.data() + cut.last_left);
  prefetch(lowest_values(column) + cut.first_right);
}

// Which part of the column's range of values a value is in. Larger values are in no earlier part.
inline std::size_t part_of(const Column& column, std::size_t n_parts, double value) {
  const double place = (value - column.high.front()) * column.parts_in_unit;
  return static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(n_parts - 1)));
}

// Notes whether a code is one value, and where random thresholds are to be looked for. In few
// codes, a search is as fast without.
inline void index_values(Column& column) {
  if (column.low == column.high) column.low = {};
  column.is_exact = column.low.empty();
  constexpr std::uint32_t least = 64, most_parts = 1024;
  if (column.n_codes < least || column.is_category) return;
  const std::size_t n_parts = std::min(column.n_codes, most_parts);
  const double width = column.high.back() - column.high.front();
  const double parts_in_unit = static_cast<double>(n_parts) / width;
  // As all would be in one part, or no number, if the width or its inverse overflow.
  if (!std::isfinite(width) || !std::isfinite(parts_in_unit)) return;
  column.parts_in_unit = parts_in_unit;
  column.codes_below.resize(n_parts + 1);
  std::size_t part = 0;
  for (std::uint32_t code = 0; code < column.n_codes; ++code) {
    const std::size_t of_code = part_of(column, n_parts, column.high[code]);
    while (part < of_code) column.codes_below[++part] = static_cast<std::uint16_t>(code);
  }
  while (part < n_parts) column.codes_below[++part] = static_cast<std::uint16_t>(column.n_codes);
}

// The codes from begin to before end, among which a value is to be looked for.
struct CodesNear {
  std::uint32_t begin, end;
};

inline CodesNear codes_near(const Column& column, double value) {
  if (column.codes_below.empty()) return {0, column.n_codes};
  const std::size_t part = part_of(column, column.codes_below.size() - 1, value);
  return {column.codes_below[part], column.codes_below[part + 1]};
}

// Uniform in `unit` between the values of two codes.
inline double random_threshold(const Column& column, CodeRange range, double unit) {
  const double smallest = lowest_values(column)[range.first], largest = column.high[range.last];
  // Half and half, as the difference of two finite numbers may not be finite.
  return 2 * (smallest / 2 + unit * (largest / 2 - smallest / 2));
}

// Puts the cut at a threshold between the values of two codes.
inline void place_at_random(const Column& column, CodeRange range, double unit, Cut& cut) {
  const double threshold = random_threshold(column, range, unit);
  const CodesNear near = codes_near(column, threshold);
  const double* high = column.high.data();
  const double* above = std::upper_bound(high + near.begin, high + near.end, threshold);
  cut.first_right =
      std::clamp(static_cast<std::uint32_t>(above - high), range.first + 1, range.last);
  cut.last_left = cut.first_right - 1;
  cut.random_threshold = threshold;
}

}  // namespace hardwood
