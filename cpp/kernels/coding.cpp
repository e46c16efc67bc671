// Makes the codes of a matrix (codes.hpp).
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "hardwood/buffer.hpp"
#include "hardwood/codes.hpp"
#include "hardwood/column_codes.hpp"
#include "hardwood/column_room.hpp"
#include "hardwood/gather.hpp"
#include "hardwood/parallel.hpp"
#include "hardwood/threshold.hpp"
#include "hardwood/transpose.hpp"
#include "hardwood/tree.hpp"

namespace hardwood {

namespace {

// What a column of n codes takes: readers of one-byte codes take two bytes.
std::size_t bytes_of_column(std::size_t n, bool wide) { return n * (wide ? 2 : 1) + 1; }

// Calls write(codes) with room for n codes, of the type that n_codes of them need.
template <class Write>
void write_codes(ColumnRoom& room, Column& column, std::size_t n, std::size_t n_codes,
                 const Write& write) {
  column.wide = n_codes > kMaxNarrowCodes;
  column.bytes = room.take(bytes_of_column(n, column.wide));
  if (column.wide)
    write(reinterpret_cast<std::uint16_t*>(column.bytes.get()));
  else
    write(column.bytes.get());
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
  constexpr bool is_real = std::is_floating_point_v<T>;
  // Several values at a time, for the vector units.
  constexpr std::size_t abreast = 16;
  std::array<T, abreast> smallest, largest;
  smallest.fill(is_real ? Limits::infinity() : Limits::max());
  largest.fill(is_real ? -Limits::infinity() : Limits::lowest());
  std::array<std::int64_t, abreast> missing{}, whole{};
  auto take = [&](T v, std::size_t l) {
    smallest[l] = v < smallest[l] ? v : smallest[l];
    largest[l] = v > largest[l] ? v : largest[l];
    if constexpr (is_real) {
      missing[l] += v != v ? 1 : 0;
      // Adding this leaves no bit for a fraction.
      constexpr double many = 6755399441055744;
      const double number = v, rounded = (number + many) - many;
      whole[l] += (rounded == number) & (std::abs(number) < 1e9) ? 1 : 0;
    }
  };
  std::size_t i = 0;
  for (; i + abreast <= n; i += abreast)
    for (std::size_t l = 0; l < abreast; ++l) take(values[i + l], l);
  for (; i < n; ++i) take(values[i], i % abreast);
  ColumnSummary<T> s{*std::ranges::min_element(smallest), *std::ranges::max_element(largest)};
  if constexpr (is_real) {
    const auto n_missing = std::accumulate(missing.begin(), missing.end(), std::int64_t{0});
    const auto n_whole = std::accumulate(whole.begin(), whole.end(), std::int64_t{0});
    s.has_missing = n_missing > 0;
    s.whole = n_missing + n_whole == static_cast<std::int64_t>(n);
  }
  return s;
}

// Whole numbers in a small range: a table from value to code, no sorting.
template <class T>
void code_by_table(const T* values, std::size_t n, const ColumnSummary<T>& s, ColumnRoom& room,
                   Column& column) {
  std::vector<std::uint32_t> table(s.slot(s.largest) + 1, 0);
  for (std::size_t i = 0; i < n; ++i)
    if (!is_missing(values[i])) table[s.slot(values[i])] = 1;
  for (std::size_t b = 0; b < table.size(); ++b) {
    if (!table[b]) continue;
    table[b] = column.n_codes++;
    column.high.push_back(static_cast<double>(s.smallest) + static_cast<double>(b));
  }
  write_codes(room, column, n, column.n_codes, [&]<class Code>(Code* codes) {
    for (std::size_t i = 0; i < n; ++i)
      codes[i] =
          static_cast<Code>(is_missing(values[i]) ? column.n_codes : table[s.slot(values[i])]);
  });
}

// Any values: sort them with their rows.
template <class T>
void code_by_sorting(const T* values, std::size_t n, std::size_t number, ColumnRoom& room,
                     Column& column, ValueSorter<T>& sorter) {
  const std::span<const T> all(values, n);
  const std::span<const RankedPlace> sorted = sorter.sort(all);
  const std::size_t distinct = count_distinct(sorted);
  // A rank is a code where there are codes for all, and where thresholds tell all values apart.
  const bool are_codes = distinct <= kMaxCodes && (std::is_floating_point_v<T> || sizeof(T) < 8);
  write_codes(room, column, n, distinct, [&]<class Code>(Code* codes) {
    if (are_codes) {
      column.high.resize(distinct);
      for (const auto [rank, place] : sorted) {
        codes[place] = static_cast<Code>(rank);
        column.high[rank] = static_cast<double>(values[place]) + 0.0;  // -0 becomes +0
      }
      column.n_codes = static_cast<std::uint32_t>(distinct);
    } else {
      CodeGiver<T> giver(column, number, distinct, sorted.size());
      for_each_value(all, sorted, [&](T value, std::size_t first, std::size_t last) {
        const auto code = static_cast<Code>(giver.next(value, last - first));
        for (std::size_t i = first; i < last; ++i) codes[sorted[i].place] = code;
      });
    }
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
void code_column(const T* values, std::size_t n, std::size_t number, ColumnRoom& room,
                 Column& column, ValueSorter<T>& sorter) {
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
    code_by_table(values, n, s, room, column);
  else
    code_by_sorting(values, n, number, room, column, sorter);
  list_other_rows(column, n);
  index_values(column);
}

// Copies a block of columns, a few rows at a time, so that both sides stay in the cache.
template <class T>
void copy_columns(const MatrixView<T>& X, std::size_t first, std::size_t width, T* out) {
  constexpr std::size_t tile = 64, square = kSquare<T>;
  const std::size_t n = X.n_rows;
  auto copy = [&](std::size_t begin, std::size_t end, std::size_t j) {
    const T* from = X.data + static_cast<std::ptrdiff_t>(first + j) * X.column_stride;
    for (std::size_t i = begin; i < end; ++i)
      out[j * n + i] = from[static_cast<std::ptrdiff_t>(i) * X.row_stride];
  };
  for (std::size_t begin = 0; begin < n; begin += tile) {
    const std::size_t end = std::min(n, begin + tile);
    for (std::size_t i = end; i < std::min(n, end + tile); ++i) {
      const T* row = X.data + static_cast<std::ptrdiff_t>(i) * X.row_stride;
      prefetch(row + static_cast<std::ptrdiff_t>(first) * X.column_stride);
      prefetch(row + static_cast<std::ptrdiff_t>(first + width - 1) * X.column_stride);
    }
    std::size_t j = 0;
    if (X.column_stride == 1 && end - begin == tile && square > 1)
      for (; j + square <= width; j += square)
        for (std::size_t i = begin; i < end; i += square) {
          const T* from = X.data + static_cast<std::ptrdiff_t>(i) * X.row_stride + (first + j);
          transpose_square<T>(
              [=](std::size_t r) { return from + static_cast<std::ptrdiff_t>(r) * X.row_stride; },
              [=](std::size_t c) { return out + (j + c) * n + i; });
        }
    for (; j < width; ++j) copy(begin, end, j);
  }
}

// Bytes have few values.
template <class T>
void code_bytes(const T* values, std::size_t n, ColumnRoom& room, Column& column) {
  constexpr std::size_t n_values = 256;
  // Bytes as numbers from 0 in the order of the values.
  constexpr int zero = std::is_signed_v<T> ? 128 : 0;
  constexpr std::size_t n_sets = 4;  // a value need not wait for the last one
  std::array<std::array<std::uint8_t, n_values>, n_sets> seen{};
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(values);
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
    column.high.push_back(static_cast<double>(static_cast<int>(v) - zero));
  }
  check_categories(column, ColumnSummary<double>{column.high.front(), column.high.back()});
  write_codes(room, column, n, column.n_codes, [&]<class Code>(Code* out) {
    if (are_codes)
      std::copy_n(bytes, n, out);
    else
      for (std::size_t row = 0; row < n; ++row) out[row] = codes[bytes[row]];
  });
  list_other_rows(column, n);
  index_values(column);
}

// Codes blocks of columns, as many as share a cache line of the input; one a thread.
template <class T>
class BlockCoder {
 public:
  BlockCoder(const MatrixView<T>& X, ColumnRoom& room) : X_(X), room_(room) {}

  void code(std::size_t first, std::size_t last, Codes& codes, const Poll& poll) {
    const std::size_t n = X_.n_rows, width = last - first;
    const T* block = X_.data + static_cast<std::ptrdiff_t>(first) * X_.column_stride;
    std::ptrdiff_t stride = X_.column_stride;
    if (X_.row_stride != 1) {
      if (block_.empty()) block_.resize(width * n);  // the last block may be narrower
      copy_columns(X_, first, width, block_.data());
      block = block_.data();
      stride = static_cast<std::ptrdiff_t>(n);
    }
    for (std::size_t j = 0; j < width; ++j) {
      const T* values = block + static_cast<std::ptrdiff_t>(j) * stride;
      Column& column = codes.columns[first + j];
      if constexpr (sizeof(T) == 1)
        code_bytes(values, n, room_, column);
      else
        code_column(values, n, first + j, room_, column, sorter_);
      poll();
    }
  }

 private:
  const MatrixView<T>& X_;
  ColumnRoom& room_;
  Buffer<T> block_;
  ValueSorter<T> sorter_;
};

// Lays columns of one byte out, which stand side by side in the rows, for some rows.
void lay_out_bytes(Codes& codes, std::span<const std::uint32_t> columns, std::size_t first,
                   std::size_t last) {
  if (columns.empty()) return;
  constexpr std::size_t square = kSquare<std::uint8_t>;
  const std::size_t stride = codes.row_stride, end = first + (last - first) / square * square;
  std::uint8_t* const rows = codes.rows.data() + codes.fields[columns[0]].offset;
  auto copy = [&](std::size_t f, std::size_t begin) {
    const std::uint8_t* from = codes.columns[columns[f]].bytes.get();
    for (std::size_t i = begin; i < last; ++i) rows[i * stride + f] = from[i];
  };
  std::size_t f = 0;
  for (; f + square <= columns.size(); f += square) {
    std::array<const std::uint8_t*, square> from;
    for (std::size_t c = 0; c < square; ++c) from[c] = codes.columns[columns[f + c]].bytes.get();
    for (std::size_t i = first; i < end; i += square)
      transpose_square<std::uint8_t>([&](std::size_t c) { return from[c] + i; },
                                     [=](std::size_t r) { return rows + (i + r) * stride + f; });
    for (std::size_t c = 0; c < square; ++c) copy(f + c, end);
  }
  for (; f < columns.size(); ++f) copy(f, first);
}

// Lays the codes out row by row: two-byte columns first, so that they are aligned, and rows padded
// so that none straddles more cache lines than it must.
void lay_out_rows(Codes& codes, int n_threads, const Poll& poll) {
  std::uint32_t offset = 0;
  codes.fields.resize(codes.n_columns());
  std::vector<std::uint32_t> wide, narrow;
  for (const bool is_wide : {true, false})
    for (std::size_t f = 0; f < codes.n_columns(); ++f)
      if (codes.columns[f].wide == is_wide) {
        (is_wide ? wide : narrow).push_back(static_cast<std::uint32_t>(f));
        const Column& column = codes.columns[f];
        codes.fields[f] = {offset,
                           static_cast<std::uint16_t>(is_wide ? 65535 : 255),
                           static_cast<std::uint16_t>(column.common),
                           column.has_missing,
                           column.is_category,
                           column.often_one};
        offset += is_wide ? 2 : 1;
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
                 for (const std::uint32_t f : wide) {
                   const auto* from = codes.columns[f].template codes<std::uint16_t>();
                   std::uint8_t* out = codes.rows.data() + codes.fields[f].offset;
                   for (std::size_t i = first; i < last; ++i)
                     std::memcpy(out + i * codes.row_stride, from + i, 2);
                 }
                 lay_out_bytes(codes, narrow, first, last);
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
  // Neighbouring columns share the input's cache lines where it lies row by row. Half a line at a
  // time if there are few: threads then end at about the same time, and their blocks take less
  // memory, whose first touch may take longer than a second read of the line.
  constexpr std::size_t line = kCacheLine / sizeof(T), few_lines = 4;  // a thread
  const auto wanted = static_cast<std::size_t>(std::max(n_threads, 1));
  const bool has_few = X.n_columns < few_lines * wanted * line;
  const std::size_t block = X.column_stride != 1 ? 1 : has_few ? line / 2 : line;
  const std::size_t n_blocks = (X.n_columns + block - 1) / block;
  ColumnRoom room(X.n_columns * ColumnRoom::rounded(bytes_of_column(X.n_rows, sizeof(T) > 1)));
  std::atomic<std::size_t> next{0};
  const std::size_t n_coders = std::min(n_blocks, wanted);
  parallel_for(n_coders, n_threads, poll, [&](std::size_t, const Poll& own_poll) {
    BlockCoder<T> coder(X, room);
    for (std::size_t b; (b = next.fetch_add(1)) < n_blocks;) {
      own_poll();
      coder.code(b * block, std::min(X.n_columns, (b + 1) * block), codes, own_poll);
    }
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
