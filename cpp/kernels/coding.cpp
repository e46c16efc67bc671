// Makes the codes of a matrix (codes.hpp).
#include <algorithm>
#include <array>
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

#include "hardwood/buffer.hpp"
#include "hardwood/codes.hpp"
#include "hardwood/column_codes.hpp"
#include "hardwood/parallel.hpp"
#include "hardwood/threshold.hpp"
#include "hardwood/tree.hpp"

namespace hardwood {

namespace {

template <class Code>
Code* allocate(Column& column, std::size_t n) {
  column.wide = sizeof(Code) == 2;
  column.bytes.resize(n * sizeof(Code) + 1);  // readers of one-byte codes take two bytes
  return reinterpret_cast<Code*>(column.bytes.data());
}

// Calls write(codes) with room for n codes, of the type that column.n_codes of them need.
template <class Write>
void write_codes(Column& column, std::size_t n, std::size_t n_codes, const Write& write) {
  if (n_codes <= kMaxNarrowCodes)
    write(allocate<std::uint8_t>(column, n));
  else
    write(allocate<std::uint16_t>(column, n));
}

template <class T>
struct ColumnSummary {
  T smallest, largest;  // the other way round where all values are missing
  bool has_missing = false;
  bool whole = true;  // all values are whole numbers, and real ones are within 32 bits

  bool is_empty() const { return smallest > largest; }
  bool is_infinite() const { return !is_empty() && (std::isinf(smallest) || std::isinf(largest)); }

  // How far a value is above the smallest one; only where all are whole.
  std::uint64_t slot(T value) const {
    if constexpr (std::is_floating_point_v<T>)
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(value) -
                                        static_cast<std::int64_t>(smallest));
    else
      return static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(smallest);
  }
};

template <class T>
ColumnSummary<T> summarise(const T* values, std::size_t n) {
  using Limits = std::numeric_limits<T>;
  ColumnSummary<T> s{Limits::max(), Limits::lowest()};
  if constexpr (std::is_floating_point_v<T>) s = {Limits::infinity(), -Limits::infinity()};
  std::size_t missing = 0, fractional = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const T v = values[i];
    s.smallest = v < s.smallest ? v : s.smallest;
    s.largest = v > s.largest ? v : s.largest;
    if constexpr (std::is_floating_point_v<T>) {
      missing += is_missing(v);
      const bool small = v > T{-1e9} && v < T{1e9};
      const T truncated = small ? static_cast<T>(static_cast<std::int32_t>(v)) : T{0};
      fractional += !is_missing(v) & !(truncated == v);
    }
  }
  s.has_missing = missing > 0;
  s.whole = fractional == 0;
  return s;
}

// Whole numbers in a small range: a table from value to code, no sorting.
template <class T>
void code_by_table(const T* values, std::size_t n, const ColumnSummary<T>& s, Column& column) {
  std::vector<std::uint32_t> table(s.slot(s.largest) + 1, 0);
  for (std::size_t i = 0; i < n; ++i)
    if (!is_missing(values[i])) table[s.slot(values[i])] = 1;
  for (std::size_t b = 0; b < table.size(); ++b) {
    if (!table[b]) continue;
    table[b] = column.n_codes++;
    column.low.push_back(static_cast<double>(s.smallest) + static_cast<double>(b));
  }
  column.high = column.low;
  write_codes(column, n, column.n_codes, [&]<class Code>(Code* codes) {
    for (std::size_t i = 0; i < n; ++i)
      codes[i] =
          static_cast<Code>(is_missing(values[i]) ? column.n_codes : table[s.slot(values[i])]);
  });
}

// Any values: sort them with their rows.
template <class T>
void code_by_sorting(const T* values, std::size_t n, std::size_t number, Column& column,
                     KeySorter<T>& sorter) {
  auto& items = sorter.items;
  items.clear();
  for (std::size_t i = 0; i < n; ++i)
    if (!is_missing(values[i])) items.push_back({to_key(values[i]), static_cast<std::uint32_t>(i)});
  sorter.sort();
  const std::size_t distinct = count_distinct(items);
  CodeGiver<T> giver(column, number, distinct, items.size());
  write_codes(column, n, distinct, [&]<class Code>(Code* codes) {
    for_each_value(items, [&](T value, std::size_t first, std::size_t last) {
      const auto code = static_cast<Code>(giver.next(value, last - first));
      for (std::size_t i = first; i < last; ++i) codes[items[i].place] = code;
    });
    if (column.has_missing)
      for (std::size_t i = 0; i < n; ++i)
        if (is_missing(values[i])) codes[i] = static_cast<Code>(column.n_codes);
  });
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
  const auto common = static_cast<Code>(column.common);
  std::uint32_t n_others = 0;
  for (std::size_t i = 0; i < n; ++i) n_others += codes[i] != common;
  column.often_one = std::size_t{n_others} * 2 <= n;
  column.mostly_one = n_others * kListedShare <= n;
  if (!column.mostly_one) return;
  column.other_rows.resize(n_others + 1);  // the last one is written over and over
  std::uint32_t* next = column.other_rows.data();
  for (std::size_t i = 0; i < n; ++i) {
    *next = static_cast<std::uint32_t>(i);
    next += codes[i] != common;
  }
  column.other_rows.pop_back();
}

void list_other_rows(Column& column, std::size_t n) {
  if (column.wide)
    list_other_rows<std::uint16_t>(column, n);
  else
    list_other_rows<std::uint8_t>(column, n);
}

template <class T>
void check_categories(const Column& column, const ColumnSummary<T>& s) {
  if (!column.is_category || s.is_empty()) return;
  if (!(s.whole && s.smallest >= T{0} && static_cast<double>(s.largest) < kMaxCategories))
    throw std::invalid_argument("categories must be whole numbers from 0 to 65534");
}

template <class T>
void code_column(const T* values, std::size_t n, std::size_t number, Column& column,
                 KeySorter<T>& sorter) {
  const ColumnSummary<T> s = summarise(values, n);
  if constexpr (std::is_floating_point_v<T>)
    if (s.is_infinite()) throw_infinity();
  column.has_missing = s.has_missing;
  check_categories(column, s);
  // More than 65,535 distinct values need quantiles, which only sorting gives, and so does the
  // check of whole numbers that double may not represent.
  constexpr double exact = 9007199254740992;
  const bool is_exact =
      static_cast<double>(s.smallest) > -exact && static_cast<double>(s.largest) < exact;
  if (s.whole && !s.is_empty() && is_exact &&
      s.slot(s.largest) < std::min<std::size_t>(16 * n, kMaxCodes))
    code_by_table(values, n, s, column);
  else
    code_by_sorting(values, n, number, column, sorter);
  list_other_rows(column, n);
  index_values(column);
}

// Copies a block of columns, a tile of rows at a time, so that both sides stay in the cache.
template <class T, class To>
void copy_columns(const MatrixView<T>& X, std::size_t first, std::size_t width, const To& to) {
  constexpr std::size_t tile = 64;
  for (std::size_t begin = 0; begin < X.n_rows; begin += tile) {
    const std::size_t end = std::min(X.n_rows, begin + tile);
    for (std::size_t j = 0; j < width; ++j) {
      auto* column = to(j);
      const T* from = X.data + static_cast<std::ptrdiff_t>(first + j) * X.column_stride;
      for (std::size_t i = begin; i < end; ++i)
        column[i] = from[static_cast<std::ptrdiff_t>(i) * X.row_stride];
    }
  }
}

// Bytes have few values: they are copied to where their codes will stand, and replaced there.
template <class T>
void code_bytes(std::size_t n, Column& column) {
  constexpr std::size_t n_values = 256;
  // Bytes as numbers from 0 in the order of the values.
  constexpr int zero = std::is_signed_v<T> ? 128 : 0;
  constexpr std::size_t n_sets = 4;  // a value need not wait for the last one
  std::array<std::array<std::uint8_t, n_values>, n_sets> seen{};
  const std::uint8_t* bytes = column.bytes.data();
  std::size_t i = 0;
  for (; i + n_sets <= n; i += n_sets)
    for (std::size_t set = 0; set < n_sets; ++set) seen[set][bytes[i + set]] = 1;
  for (; i < n; ++i) seen[0][bytes[i]] = 1;
  std::array<std::uint8_t, n_values> codes{};
  bool are_codes = true;  // already
  for (std::size_t v = 0; v < n_values; ++v) {
    const auto byte = static_cast<std::uint8_t>(v ^ static_cast<std::size_t>(zero));
    if (!(seen[0][byte] | seen[1][byte] | seen[2][byte] | seen[3][byte])) continue;
    are_codes &= byte == column.n_codes;
    codes[byte] = static_cast<std::uint8_t>(column.n_codes++);
    column.low.push_back(static_cast<double>(static_cast<int>(v) - zero));
  }
  column.high = column.low;
  check_categories(column, ColumnSummary<double>{column.low.front(), column.low.back()});
  if (column.n_codes > kMaxNarrowCodes) {
    const Buffer<std::uint8_t> narrow = std::move(column.bytes);
    auto* wide = allocate<std::uint16_t>(column, n);
    for (std::size_t row = 0; row < n; ++row) wide[row] = codes[narrow[row]];
  } else if (!are_codes) {
    for (std::size_t row = 0; row < n; ++row) column.bytes[row] = codes[column.bytes[row]];
  }
  list_other_rows(column, n);
  index_values(column);
}

// One block of columns, as many as share a cache line of the input.
template <class T>
void code_block(const MatrixView<T>& X, std::size_t first, std::size_t last, Codes& codes,
                const Poll& poll) {
  const std::size_t n = X.n_rows, width = last - first;
  if constexpr (sizeof(T) == 1) {
    for (std::size_t j = first; j < last; ++j) allocate<std::uint8_t>(codes.columns[j], n);
    copy_columns(X, first, width, [&](std::size_t j) {
      return reinterpret_cast<T*>(codes.columns[first + j].bytes.data());
    });
    for (std::size_t j = first; j < last; ++j) {
      code_bytes<T>(n, codes.columns[j]);
      poll();
    }
    return;
  }
  KeySorter<T> sorter;
  if (X.row_stride == 1) {
    for (std::size_t j = first; j < last; ++j)
      code_column(X.data + static_cast<std::ptrdiff_t>(j) * X.column_stride, n, j, codes.columns[j],
                  sorter);
    return;
  }
  Buffer<T> block(width * n);
  copy_columns(X, first, width, [&](std::size_t j) { return block.data() + j * n; });
  for (std::size_t j = 0; j < width; ++j) {
    code_column(block.data() + j * n, n, first + j, codes.columns[first + j], sorter);
    poll();
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
        const Column& column = codes.columns[f];
        codes.fields[f] = {offset,
                           static_cast<std::uint16_t>(wide ? 65535 : 255),
                           static_cast<std::uint16_t>(column.common),
                           column.has_missing,
                           column.is_category,
                           column.often_one};
        offset += wide ? 2 : 1;
      }
  const std::size_t unit =
      offset >= kCacheLine ? kCacheLine : std::bit_ceil(std::max<std::size_t>(offset, 2));
  codes.row_stride = (offset + unit - 1) / unit * unit;
  codes.rows.resize(codes.n_rows * codes.row_stride + kCacheLine);
  // Few enough rows at a time to stay in the nearest cache while all columns are written.
  const std::size_t block = std::clamp<std::size_t>((1 << 15) / codes.row_stride, 16, 1024);
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
                 own_poll();
                 code_block(X, b * block, std::min(X.n_columns, (b + 1) * block), codes, own_poll);
               });
  codes.lists_rows = std::any_of(codes.columns.begin(), codes.columns.end(),
                                 [](const Column& column) { return column.mostly_one; });
  lay_out_rows(codes, n_threads, poll);
  return codes;
}

namespace {

void check_codes(const Column& column, std::size_t n_rows) {
  const std::size_t n_codes = column.n_codes + column.has_missing;
  auto check = [&](const auto* codes) {
    if (n_rows > 0 && *std::max_element(codes, codes + n_rows) >= n_codes)
      throw std::invalid_argument("codes must be in the table of their column");
  };
  if (column.wide)
    check(column.codes<std::uint16_t>());
  else
    check(column.codes<std::uint8_t>());
}

}  // namespace

Codes join_columns(std::vector<Column> columns, std::size_t n_rows, int n_threads,
                   const Poll& poll) {
  Codes codes;
  codes.n_rows = n_rows;
  codes.columns = std::move(columns);
  parallel_for(codes.n_columns(), n_threads, poll, [&](std::size_t f, const Poll& own_poll) {
    check_codes(codes.columns[f], n_rows);
    list_other_rows(codes.columns[f], n_rows);
    index_values(codes.columns[f]);
    own_poll();
  });
  codes.lists_rows = std::ranges::any_of(codes.columns, &Column::mostly_one);
  lay_out_rows(codes, n_threads, poll);
  return codes;
}

template <class T>
Column make_table(std::span<const T> values, std::span<const std::int64_t> n_rows,
                  std::size_t number) {
  if (values.size() != n_rows.size())
    throw std::invalid_argument("every value must have a number of rows");
  std::size_t total = 0;
  for (const std::int64_t n : n_rows) total += static_cast<std::size_t>(n);
  Column column;
  CodeGiver<T> giver(column, number, values.size(), total);
  for (std::size_t i = 0; i < values.size(); ++i)
    giver.next(values[i], static_cast<std::size_t>(n_rows[i]));
  return column;
}

using Counts64 = std::span<const std::int64_t>;
template Column make_table(std::span<const double>, Counts64, std::size_t);
template Column make_table(std::span<const std::int64_t>, Counts64, std::size_t);
template Column make_table(std::span<const std::uint64_t>, Counts64, std::size_t);

using Columns = std::span<const std::size_t>;
template Codes make_codes(const MatrixView<float>&, int, const Poll&, Columns);
template Codes make_codes(const MatrixView<double>&, int, const Poll&, Columns);
template Codes make_codes(const MatrixView<std::uint8_t>&, int, const Poll&, Columns);
template Codes make_codes(const MatrixView<std::int8_t>&, int, const Poll&, Columns);
template Codes make_codes(const MatrixView<std::uint16_t>&, int, const Poll&, Columns);
template Codes make_codes(const MatrixView<std::int16_t>&, int, const Poll&, Columns);
template Codes make_codes(const MatrixView<std::uint32_t>&, int, const Poll&, Columns);
template Codes make_codes(const MatrixView<std::int32_t>&, int, const Poll&, Columns);
template Codes make_codes(const MatrixView<std::uint64_t>&, int, const Poll&, Columns);
template Codes make_codes(const MatrixView<std::int64_t>&, int, const Poll&, Columns);

}  // namespace hardwood
