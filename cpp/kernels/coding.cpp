// Makes the codes of a matrix (codes.hpp).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "hardwood/codes.hpp"
#include "hardwood/parallel.hpp"
#include "hardwood/tree.hpp"

namespace hardwood {

namespace {

// Unsigned keys in the order of the values.
template <class T>
using Key = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
Key<T> to_key(T value) {
  using K = Key<T>;
  constexpr K sign = K{1} << (8 * sizeof(T) - 1);
  const K bits = std::bit_cast<K>(value + T{0});  // -0 becomes +0
  return bits & sign ? ~bits : bits | sign;
}

template <class T>
T from_key(Key<T> key) {
  using K = Key<T>;
  constexpr K sign = K{1} << (8 * sizeof(T) - 1);
  return std::bit_cast<T>(key & sign ? key ^ sign : ~key);
}

template <class T>
struct Ranked {
  Key<T> key;
  std::uint32_t row;
};

// Least-significant-digit radix sort by key; digits that are all the same are skipped.
template <class T>
void radix_sort(std::vector<Ranked<T>>& items, std::vector<Ranked<T>>& spare) {
  constexpr int digit_bits = 11;
  constexpr int n_digits = (8 * sizeof(T) + digit_bits - 1) / digit_bits;
  constexpr std::size_t n_buckets = std::size_t{1} << digit_bits;
  std::vector<std::uint32_t> counts(n_digits * n_buckets, 0);
  for (const auto& item : items)
    for (int d = 0; d < n_digits; ++d)
      ++counts[d * n_buckets + ((item.key >> (d * digit_bits)) & (n_buckets - 1))];
  spare.resize(items.size());
  for (int d = 0; d < n_digits; ++d) {
    std::uint32_t* bucket = counts.data() + d * n_buckets;
    if (std::find(bucket, bucket + n_buckets, items.size()) != bucket + n_buckets) continue;
    std::uint32_t start = 0;
    for (std::size_t b = 0; b < n_buckets; ++b) start += std::exchange(bucket[b], start);
    for (const auto& item : items)
      spare[bucket[(item.key >> (d * digit_bits)) & (n_buckets - 1)]++] = item;
    items.swap(spare);
  }
}

template <class Code>
void allocate(Column& column, std::size_t n) {
  column.wide = sizeof(Code) == 2;
  column.bytes.resize(n * sizeof(Code) + 1);  // readers of one-byte codes take two bytes
}

template <class T>
struct ColumnSummary {
  T smallest = std::numeric_limits<T>::infinity();
  T largest = -std::numeric_limits<T>::infinity();
  bool has_missing = false;
  bool whole = true;  // all values are whole numbers within 32 bits
};

template <class T>
ColumnSummary<T> summarise(const T* values, std::size_t n) {
  ColumnSummary<T> s;
  std::size_t missing = 0, fractional = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const T v = values[i];
    const bool is_missing = std::isnan(v);
    missing += is_missing;
    s.smallest = v < s.smallest ? v : s.smallest;
    s.largest = v > s.largest ? v : s.largest;
    const bool small = v > T{-1e9} && v < T{1e9};
    const T truncated = small ? static_cast<T>(static_cast<std::int32_t>(v)) : T{0};
    fractional += !is_missing & !(truncated == v);
  }
  s.has_missing = missing > 0;
  s.whole = fractional == 0;
  return s;
}

// Whole numbers in a small range: a table from value to code, no sorting.
template <class T>
void code_by_table(const T* values, std::size_t n, const ColumnSummary<T>& s, Column& column) {
  const auto base = static_cast<std::int64_t>(s.smallest);
  const auto range = static_cast<std::size_t>(static_cast<std::int64_t>(s.largest) - base) + 1;
  std::vector<std::uint32_t> table(range, 0);
  auto slot = [&](T v) { return static_cast<std::size_t>(static_cast<std::int64_t>(v) - base); };
  for (std::size_t i = 0; i < n; ++i)
    if (!std::isnan(values[i])) table[slot(values[i])] = 1;
  for (std::size_t b = 0; b < range; ++b) {
    if (!table[b]) continue;
    table[b] = column.n_codes++;
    column.low.push_back(static_cast<double>(base + static_cast<std::int64_t>(b)));
  }
  column.high = column.low;
  auto assign = [&]<class Code>(Code missing) {
    allocate<Code>(column, n);
    auto* codes = reinterpret_cast<Code*>(column.bytes.data());
    for (std::size_t i = 0; i < n; ++i)
      codes[i] = std::isnan(values[i]) ? missing : static_cast<Code>(table[slot(values[i])]);
  };
  if (column.n_codes <= kMaxNarrowCodes)
    assign(static_cast<std::uint8_t>(column.n_codes));
  else
    assign(static_cast<std::uint16_t>(column.n_codes));
}

// Any values: sort them with their rows; where there are too many distinct ones, close a code's
// range as soon as it holds its share of the rows.
template <class T>
void code_by_sorting(const T* values, std::size_t n, Column& column, std::vector<Ranked<T>>& items,
                     std::vector<Ranked<T>>& spare) {
  items.clear();
  for (std::size_t i = 0; i < n; ++i)
    if (!std::isnan(values[i])) items.push_back({to_key(values[i]), static_cast<std::uint32_t>(i)});
  radix_sort<T>(items, spare);
  std::size_t distinct = items.empty() ? 0 : 1;
  for (std::size_t i = 1; i < items.size(); ++i) distinct += items[i].key != items[i - 1].key;

  auto assign = [&]<class Code>(Code) {
    allocate<Code>(column, n);
    auto* codes = reinterpret_cast<Code*>(column.bytes.data());
    std::size_t in_code = 0, left_over = items.size(), distinct_left = distinct;
    for (std::size_t i = 0; i < items.size(); ++i, --left_over) {
      const bool new_value = i == 0 || items[i].key != items[i - 1].key;
      if (new_value) {
        const std::size_t codes_left = kMaxCodes - column.n_codes;
        // The open code closes when it has its share, or when the codes left suffice for all
        // values.
        const bool full = in_code * (codes_left + 1) >= left_over + in_code;
        if (i == 0 || (codes_left > 0 && (distinct_left <= codes_left || full))) {
          const double value = static_cast<double>(from_key<T>(items[i].key));
          column.low.push_back(value);
          column.high.push_back(value);
          ++column.n_codes;
          in_code = 0;
        } else {
          column.high.back() = static_cast<double>(from_key<T>(items[i].key));
        }
        --distinct_left;
      }
      codes[items[i].row] = static_cast<Code>(column.n_codes - 1);
      ++in_code;
    }
    if (column.has_missing)
      for (std::size_t i = 0; i < n; ++i)
        if (std::isnan(values[i])) codes[i] = static_cast<Code>(column.n_codes);
  };
  if (distinct <= kMaxNarrowCodes)
    assign(std::uint8_t{});
  else
    assign(std::uint16_t{});
}

constexpr std::size_t kListedShare = 8;  // at most one row in so many is listed

// The majority of some rows evenly apart tells whether a list may be worth making.
template <class Code>
void list_other_rows(Column& column, std::size_t n) {
  const Code* codes = column.codes<Code>();
  const std::size_t apart = std::max<std::size_t>(1, n / 256);
  std::ptrdiff_t lead = 0;
  for (std::size_t i = 0; i < n; i += apart) {
    if (lead == 0) column.common = codes[i];
    lead += codes[i] == column.common ? 1 : -1;
  }
  std::size_t n_others = 0;
  for (std::size_t i = 0; i < n; ++i) n_others += codes[i] != column.common;
  column.mostly_one = n_others * kListedShare <= n;
  if (!column.mostly_one) return;
  column.other_rows.reserve(n_others);
  for (std::size_t i = 0; i < n; ++i)
    if (codes[i] != column.common) column.other_rows.push_back(static_cast<std::uint32_t>(i));
}

// One block of columns, as many as share a cache line of the input.
template <class T>
void code_block(const MatrixView<T>& X, std::size_t first, std::size_t last, Codes& codes) {
  const std::size_t n = X.n_rows;
  const std::size_t width = last - first;
  std::vector<T> block(width * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < width; ++j) block[j * n + i] = X.at(i, first + j);
  std::vector<Ranked<T>> items, spare;
  for (std::size_t j = 0; j < width; ++j) {
    const T* values = block.data() + j * n;
    Column& column = codes.columns[first + j];
    const ColumnSummary<T> s = summarise(values, n);
    if (std::isinf(s.smallest) || std::isinf(s.largest))
      if (s.smallest <= s.largest) throw std::invalid_argument("X contains infinity");
    column.has_missing = s.has_missing;
    if (column.is_category && s.smallest <= s.largest &&
        !(s.whole && s.smallest >= 0 && s.largest < kMaxCategories))
      throw std::invalid_argument("categories must be whole numbers from 0 to 65534");
    const double range = static_cast<double>(s.largest) - static_cast<double>(s.smallest);
    const double worth_a_table = std::min(16.0 * static_cast<double>(n) + 1024, double{1 << 20});
    // More than 65,535 distinct values need quantiles, which only sorting gives.
    if (s.whole && s.smallest <= s.largest && range < std::min(worth_a_table, double{kMaxCodes}))
      code_by_table(values, n, s, column);
    else
      code_by_sorting(values, n, column, items, spare);
    if (column.wide)
      list_other_rows<std::uint16_t>(column, n);
    else
      list_other_rows<std::uint8_t>(column, n);
  }
}

// Lays the codes out row by row: two-byte columns first, so that they are aligned, and rows padded
// so that none straddles more cache lines than it must.
void lay_out_rows(Codes& codes, int n_threads, const Poll& poll) {
  std::uint32_t offset = 0;
  codes.fields.resize(codes.n_columns());
  for (bool wide : {true, false})
    for (std::size_t f = 0; f < codes.n_columns(); ++f)
      if (codes.columns[f].wide == wide) {
        codes.fields[f] = {offset, static_cast<std::uint16_t>(wide ? 65535 : 255),
                           codes.columns[f].has_missing, codes.columns[f].is_category};
        offset += wide ? 2 : 1;
      }
  const std::size_t unit =
      offset >= kCacheLine ? kCacheLine : std::bit_ceil(std::max<std::size_t>(offset, 2));
  codes.row_stride = (offset + unit - 1) / unit * unit;
  codes.rows.resize(codes.n_rows * codes.row_stride + kCacheLine);
  constexpr std::size_t block = 1024;
  parallel_for((codes.n_rows + block - 1) / block, n_threads, poll,
               [&](std::size_t b, const Poll& own_poll) {
                 own_poll();
                 const std::size_t first = b * block, last = std::min(codes.n_rows, first + block);
                 for (std::size_t f = 0; f < codes.n_columns(); ++f) {
                   const Column& column = codes.columns[f];
                   std::uint8_t* out = codes.rows.data() + codes.fields[f].offset;
                   if (column.wide)
                     for (std::size_t i = first; i < last; ++i)
                       std::memcpy(out + i * codes.row_stride, column.codes<std::uint16_t>() + i,
                                   2);
                   else
                     for (std::size_t i = first; i < last; ++i)
                       out[i * codes.row_stride] = column.bytes[i];
                 }
               });
}

}  // namespace

template <class T>
Codes make_codes(const MatrixView<T>& X, int n_threads, const Poll& poll,
                 std::span<const std::size_t> category_columns) {
  Codes codes;
  codes.n_rows = X.n_rows;
  codes.columns.resize(X.n_columns);
  for (const std::size_t column : category_columns) {
    if (column >= X.n_columns) throw std::invalid_argument("there is no such column");
    codes.columns[column].is_category = true;
  }
  // Neighbouring columns share the input's cache lines where it lies row by row.
  const std::size_t block = X.column_stride == 1 ? kCacheLine / sizeof(T) : 1;
  parallel_for((X.n_columns + block - 1) / block, n_threads, poll,
               [&](std::size_t b, const Poll& own_poll) {
                 code_block(X, b * block, std::min(X.n_columns, (b + 1) * block), codes);
                 own_poll();
               });
  codes.lists_rows = std::any_of(codes.columns.begin(), codes.columns.end(),
                                 [](const Column& column) { return column.mostly_one; });
  lay_out_rows(codes, n_threads, poll);
  return codes;
}

template Codes make_codes(const MatrixView<float>&, int, const Poll&, std::span<const std::size_t>);
template Codes make_codes(const MatrixView<double>&, int, const Poll&,
                          std::span<const std::size_t>);

}  // namespace hardwood
