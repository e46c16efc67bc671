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

// A value with where it came from.
template <class T>
struct Ranked {
  Key<T> key;
  std::uint32_t place;
};

// Room to sort the values of columns; one a thread.
template <class T>
class KeySorter {
 public:
  std::vector<Ranked<T>> items;

  // By key, in any order among equals.
  void sort() {
    if (items.size() < kWorthCounting)
      std::ranges::sort(items, {}, &Ranked<T>::key);
    else if (sizeof(Key<T>) <= 4 || !sort_by_leading_bits())
      radix_sort(items, spare_);
  }

 private:
  static constexpr int kDigitBits = 11;
  static constexpr std::size_t kBuckets = std::size_t{1} << kDigitBits;
  static constexpr std::size_t kWorthCounting = 512;

  // The leading bits of a key, and the number of the item that has it.
  struct Leading {
    std::uint32_t key, place;
  };

  // Least significant digit first; digits that are all the same are skipped.
  template <class Item>
  void radix_sort(std::vector<Item>& some, std::vector<Item>& spare) {
    constexpr std::size_t n_digits = (8 * sizeof(Item::key) + kDigitBits - 1) / kDigitBits;
    counts_.assign(n_digits * kBuckets, 0);
    for (const auto& item : some)
      for (std::size_t d = 0; d < n_digits; ++d) ++counts_[d * kBuckets + digit(item.key, d)];
    spare.resize(some.size());
    for (std::size_t d = 0; d < n_digits; ++d) {
      std::uint32_t* bucket = counts_.data() + d * kBuckets;
      if (bucket[digit(some[0].key, d)] == some.size()) continue;
      std::uint32_t start = 0;
      for (std::size_t b = 0; b < kBuckets; ++b) start += std::exchange(bucket[b], start);
      for (const auto& item : some) spare[bucket[digit(item.key, d)]++] = item;
      some.swap(spare);
    }
  }

  template <class K>
  static std::size_t digit(K key, std::size_t d) {
    return (key >> (d * kDigitBits)) & (kBuckets - 1);
  }

  // Sorts 32 bits of the keys, the highest that differ, which are most often all it takes. Returns
  // false, and changes nothing, if they leave too much in disorder.
  bool sort_by_leading_bits() {
    const auto [least, most] = std::ranges::minmax(items, {}, &Ranked<T>::key);
    const Key<T> smallest = least.key;
    const int width = std::bit_width(static_cast<Key<T>>(most.key - smallest));
    const int shift = std::max(width, 32) - 32;
    leading_.resize(items.size());
    for (std::size_t i = 0; i < items.size(); ++i)
      leading_[i] = {static_cast<std::uint32_t>((items[i].key - smallest) >> shift),
                     static_cast<std::uint32_t>(i)};
    radix_sort(leading_, spare_leading_);
    spare_.resize(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) spare_[i] = items[leading_[i].place];
    std::size_t in_disorder = 0;
    for (std::size_t first = 0, last = 0; shift > 0 && first < items.size(); first = last) {
      while (last < items.size() && leading_[last].key == leading_[first].key) ++last;
      const auto run = std::span(spare_).subspan(first, last - first);
      if (std::ranges::is_sorted(run, {}, &Ranked<T>::key)) continue;
      in_disorder += run.size();
      if (in_disorder > items.size() / 8) return false;
      std::ranges::sort(run, {}, &Ranked<T>::key);
    }
    items.swap(spare_);
    return true;
  }

  std::vector<Ranked<T>> spare_;
  std::vector<Leading> leading_, spare_leading_;
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

// The number of distinct keys, which are sorted.
template <class T>
std::size_t count_distinct(const std::vector<Ranked<T>>& items) {
  std::size_t distinct = items.empty() ? 0 : 1;
  for (std::size_t i = 1; i < items.size(); ++i) distinct += items[i].key != items[i - 1].key;
  return distinct;
}

// Calls use(value, first, last) for each value and its range of the items, which are sorted.
template <class T, class Use>
void for_each_value(const std::vector<Ranked<T>>& items, const Use& use) {
  for (std::size_t first = 0, last = 0; first < items.size(); first = last) {
    while (last < items.size() && items[last].key == items[first].key) ++last;
    use(from_key<T>(items[first].key), first, last);
  }
}

[[noreturn]] inline void throw_infinity() { throw std::invalid_argument("X contains infinity"); }

}  // namespace hardwood
