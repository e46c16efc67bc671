// From the values of a column to codes: what dense and sparse matrices share.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "hardwood/codes.hpp"

namespace hardwood {

template <class T>
bool is_missing(T value) {
  return value != value;  // never so for whole numbers
}

// Unsigned keys in the order of the values.
template <class T>
using Key = std::conditional_t<(sizeof(T) <= 4), std::uint32_t, std::uint64_t>;

template <class T>
Key<T> to_key(T value) {
  using K = Key<T>;
  constexpr K sign = K{1} << (8 * sizeof(K) - 1);
  if constexpr (std::is_floating_point_v<T>) {
    const K bits = std::bit_cast<K>(value + T{0});  // -0 becomes +0
    return bits & sign ? ~bits : bits | sign;
  } else {
    return static_cast<K>(value) ^ (std::is_signed_v<T> ? sign : K{0});
  }
}

template <class T>
T from_key(Key<T> key) {
  using K = Key<T>;
  constexpr K sign = K{1} << (8 * sizeof(K) - 1);
  if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<T>(key & sign ? key ^ sign : ~key);
  else
    return static_cast<T>(key ^ (std::is_signed_v<T> ? sign : K{0}));
}

// A value's place, and how many distinct values are smaller.
struct RankedPlace {
  std::uint32_t rank;
  std::uint32_t place;
};

// Sorts the values of columns; one a thread.
template <class T>
class ValueSorter {
 public:
  // The places of all values that are not missing, by value, in any order among equals. What it
  // returns is valid until the next call.
  std::span<const RankedPlace> sort(std::span<const T> values) {
    Key<T> smallest = std::numeric_limits<Key<T>>::max(), largest = 0;
    std::size_t n = 0;
    for (const T value : values) {
      const Key<T> key = to_key(value);
      const bool known = !is_missing(value);
      smallest = known && key < smallest ? key : smallest;
      largest = known && key > largest ? key : largest;
      n += known;
    }
    if (n == 0) return {};
    if (n < kWorthCounting) {
      take(values, n);
      std::ranges::sort(items_, {}, &Item::key);
      return rank_items();
    }
    return sort_by_leading_bits(values, n, smallest, largest);
  }

 private:
  static constexpr int kDigitBits = 11;
  static constexpr std::size_t kBuckets = std::size_t{1} << kDigitBits;
  static constexpr std::size_t kWorthCounting = 512;

  struct Item {
    Key<T> key;
    std::uint32_t place;
  };

  void take(std::span<const T> values, std::size_t n) {
    items_.resize(n + 1);  // the last one is written over and over
    std::size_t next = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      items_[next] = {to_key(values[i]), static_cast<std::uint32_t>(i)};
      next += !is_missing(values[i]);
    }
    items_.resize(n);
  }

  std::span<const RankedPlace> rank_items() {
    ranked_.resize(items_.size());
    std::uint32_t rank = 0;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      rank += i > 0 && items_[i].key != items_[i - 1].key;
      ranked_[i] = {rank, items_[i].place};
    }
    return ranked_;
  }

  static Key<T> key_of(const Item& item) { return item.key; }
  static std::uint32_t key_of(const RankedPlace& leading) { return leading.rank; }

  // Least significant digit first; digits that are all the same are skipped.
  template <class Some>
  void radix_sort(std::vector<Some>& some, std::vector<Some>& spare) {
    using K = decltype(key_of(some[0]));
    constexpr std::size_t n_digits = (8 * sizeof(K) + kDigitBits - 1) / kDigitBits;
    auto digit = [](K key, std::size_t d) { return (key >> (d * kDigitBits)) & (kBuckets - 1); };
    counts_.assign(n_digits * kBuckets, 0);
    for (const Some& item : some)
      for (std::size_t d = 0; d < n_digits; ++d) ++counts_[d * kBuckets + digit(key_of(item), d)];
    spare.resize(some.size());
    for (std::size_t d = 0; d < n_digits; ++d) {
      std::uint32_t* bucket = counts_.data() + d * kBuckets;
      if (bucket[digit(key_of(some[0]), d)] == some.size()) continue;
      std::uint32_t start = 0;
      for (std::size_t b = 0; b < kBuckets; ++b) start += std::exchange(bucket[b], start);
      for (const Some& item : some) spare[bucket[digit(key_of(item), d)]++] = item;
      some.swap(spare);
    }
  }

  // Sorts 32 bits of the keys, the highest that differ, which are most often all it takes; all bits
  // if these leave too much in disorder.
  std::span<const RankedPlace> sort_by_leading_bits(std::span<const T> values, std::size_t n,
                                                    Key<T> smallest, Key<T> largest) {
    const int width = std::bit_width(static_cast<Key<T>>(largest - smallest));
    const int shift = std::max(width, 32) - 32;
    ranked_.resize(n + 1);  // the last one is written over and over
    std::size_t next = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      ranked_[next] = {static_cast<std::uint32_t>((to_key(values[i]) - smallest) >> shift),
                       static_cast<std::uint32_t>(i)};
      next += !is_missing(values[i]);
    }
    ranked_.resize(n);
    radix_sort(ranked_, spare_ranked_);
    if (shift > 0 && !sort_runs(values)) {
      take(values, n);
      radix_sort(items_, spare_);
      return rank_items();
    }
    // From the leading bits to ranks. Where no bit is left out, they are the key.
    std::uint32_t rank = 0;
    Key<T> last = smallest;
    for (RankedPlace& item : ranked_) {
      const Key<T> key = shift > 0 ? to_key(values[item.place]) : item.rank + smallest;
      rank += key != last;
      last = key;
      item.rank = rank;
    }
    return ranked_;
  }

  // Sorts what has equal leading bits by all bits. False if that is too much.
  bool sort_runs(std::span<const T> values) {
    const std::size_t n = ranked_.size();
    auto key_at = [&](std::size_t i) { return to_key(values[ranked_[i].place]); };
    std::size_t in_disorder = 0;
    for (std::size_t first = 0, last = 0; first < n; first = last) {
      Key<T> key = key_at(first);
      bool in_order = true;
      for (last = first + 1; last < n && ranked_[last].rank == ranked_[first].rank; ++last) {
        const Key<T> before = std::exchange(key, key_at(last));
        in_order &= before <= key;
      }
      if (in_order) continue;
      in_disorder += last - first;
      if (in_disorder > n / 8) return false;
      std::ranges::sort(std::span(ranked_).subspan(first, last - first), {},
                        [&](const RankedPlace& item) { return to_key(values[item.place]); });
    }
    return true;
  }

  std::vector<Item> items_, spare_;  // of all bits
  std::vector<RankedPlace> ranked_, spare_ranked_;
  std::vector<std::uint32_t> counts_;
};

// Gives the distinct values of a column codes, in ascending order. Where they are too many, a code
// stands for a range of values, which is closed as soon as it holds its share of the rows.
template <class T>
class CodeGiver {
 public:
  CodeGiver(Column& column, std::size_t number, std::size_t n_distinct, std::size_t n_rows)
      : column_(column), number_(number), distinct_left_(n_distinct), rows_left_(n_rows) {
    column.low.reserve(std::min<std::size_t>(n_distinct, kMaxCodes));
    column.high.reserve(std::min<std::size_t>(n_distinct, kMaxCodes));
  }

  // The code of the next value, which so many rows have.
  std::uint16_t next(T value, std::size_t n_rows) {
    const std::size_t codes_left = kMaxCodes - column_.n_codes;
    // The open code closes when it has its share, or when the codes left suffice for all values.
    const bool full = in_code_ * (codes_left + 1) >= rows_left_ + in_code_;
    const auto as_double = static_cast<double>(value);
    if (column_.n_codes == 0 || (codes_left > 0 && (distinct_left_ <= codes_left || full))) {
      if constexpr (std::is_integral_v<T> && sizeof(T) == 8)
        if (column_.n_codes > 0 && !(column_.high.back() < as_double)) throw_merged(value);
      column_.low.push_back(as_double);
      column_.high.push_back(as_double);
      ++column_.n_codes;
      in_code_ = 0;
    } else {
      column_.high.back() = as_double;
    }
    last_ = value;
    --distinct_left_;
    rows_left_ -= n_rows;
    in_code_ += n_rows;
    return static_cast<std::uint16_t>(column_.n_codes - 1);
  }

 private:
  [[noreturn]] void throw_merged(T value) const {
    throw std::invalid_argument(
        "X has whole numbers that float64, the type of thresholds, cannot tell apart: column " +
        std::to_string(number_) + " has " + std::to_string(last_) + " and " +
        std::to_string(value) +
        ". Subtract a constant from the column to bring it below 2**53, or convert X to float64 if "
        "such values may count as equal.");
  }

  Column& column_;
  const std::size_t number_;
  std::size_t distinct_left_, rows_left_, in_code_ = 0;
  T last_{};
};

// The number of distinct values.
inline std::size_t count_distinct(std::span<const RankedPlace> sorted) {
  return sorted.empty() ? 0 : std::size_t{sorted.back().rank} + 1;
}

// Calls use(value, first, last) for each distinct value and its range among the sorted ones.
template <class T, class Use>
void for_each_value(std::span<const T> values, std::span<const RankedPlace> sorted,
                    const Use& use) {
  for (std::size_t first = 0, last = 0; first < sorted.size(); first = last) {
    while (last < sorted.size() && sorted[last].rank == sorted[first].rank) ++last;
    use(static_cast<T>(values[sorted[first].place] + T{0}), first, last);  // -0 becomes +0
  }
}

[[noreturn]] inline void throw_infinity() { throw std::invalid_argument("X contains infinity"); }

}  // namespace hardwood
