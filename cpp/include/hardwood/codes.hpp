// Rank codes: each column as the ranks of its values.
//
// A value's *code* is its rank among the column's distinct values, one byte where that is enough
// and two bytes otherwise. The missing value is the code after the last. A column with more than
// 65,535 distinct values is cut at that many quantiles, and a code then stands for a range of
// values. The codes are kept twice: column by column, for nodes of many rows, and row by row, for
// nodes of few rows, whose lines then stay in the cache through a whole subtree.
//
// Of a sparse matrix only those codes are kept, twice again, that are not their column's common
// one: the code of zero.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hardwood/buffer.hpp"
#include "hardwood/column_room.hpp"
#include "hardwood/parallel.hpp"

namespace hardwood {

inline constexpr std::size_t kCacheLine = 64;
inline constexpr std::uint32_t kMaxNarrowCodes = 255;
inline constexpr std::uint32_t kMaxCodes = 65535;

struct Column {
  std::uint32_t n_codes = 0;  // codes of values; the missing value's code is n_codes
  bool has_missing = false;
  bool is_category = false;  // values are the numbers of categories: their order means nothing
  bool wide = false;         // two bytes a code
  // The smallest and the largest value of each code, which are the same but for columns cut at
  // quantiles: then is_exact, and `low` is empty.
  std::vector<double> low, high;
  bool is_exact = false;
  ColumnBytes bytes;
  // Where nearly all rows have one code: that one, and the rows that have another. In a sparse
  // matrix, the code of the rows without an entry.
  bool mostly_one = false;
  bool often_one = false;  // at least half of them
  std::uint32_t common = 0;
  std::vector<std::uint32_t> other_rows;
  // Where to look for a value among many: the range of values has parts of equal width, this many
  // in a unit, and each knows how many codes lie below it.
  double parts_in_unit = 0;
  std::vector<std::uint16_t> codes_below;

  template <class Code>
  const Code* codes() const {
    return reinterpret_cast<const Code*>(bytes.get());
  }
};

// What small nodes ask of a column, close together.
struct RowField {
  std::uint32_t offset;  // bytes from the start of a row
  std::uint16_t mask;    // 255 for one-byte codes, which are read together with their neighbour
  std::uint16_t common;  // code
  bool has_missing;
  bool is_category;
  bool often_one;  // at least half of the rows have the common code
};

// A code of a sparse matrix, in a list of its column's or of its row's.
struct CodeEntry {
  std::uint32_t place;  // the row, or the column
  std::uint16_t code;
};

// What nodes ask of a sparse column, close together.
struct SparseField {
  std::uint16_t common, n_codes;
  bool has_missing;
};

// The entries of every column or of every row, places ascending.
struct EntryLists {
  std::vector<std::size_t> starts;
  std::vector<CodeEntry> entries;

  std::span<const CodeEntry> of(std::size_t list) const {
    return std::span(entries).subspan(starts[list], starts[list + 1] - starts[list]);
  }
};

struct Codes {
  std::size_t n_rows = 0;
  std::vector<Column> columns;
  std::size_t row_stride = 0;
  Buffer<std::uint8_t> rows;
  std::vector<RowField> fields;  // of the columns
  bool lists_rows = false;       // whether any column does
  bool is_sparse = false;        // then the codes are in these lists, and nowhere else
  EntryLists of_columns, of_rows;
  std::vector<SparseField> sparse_fields;

  std::size_t n_columns() const { return columns.size(); }
};

// Codes of the column that has the most, the missing value's included.
inline std::uint32_t most_codes(const Codes& codes) {
  std::uint32_t most = 0;
  for (const auto& column : codes.columns) most = std::max(most, column.n_codes + 1);
  return most;
}

// A matrix as NumPy holds it: any strides, in elements.
template <class T>
struct MatrixView {
  const T* data;
  std::size_t n_rows;
  std::size_t n_columns;
  std::ptrdiff_t row_stride;
  std::ptrdiff_t column_stride;

  T at(std::size_t row, std::size_t column) const {
    return data[static_cast<std::ptrdiff_t>(row) * row_stride +
                static_cast<std::ptrdiff_t>(column) * column_stride];
  }
};

// The rows of a sparse matrix as SciPy's CSR format holds them: row i has the entries from
// starts[i] to starts[i + 1], in ascending columns, none of them twice.
template <class T>
struct SparseView {
  std::size_t n_rows;
  std::size_t n_columns;
  std::span<const T> values;
  std::span<const std::int32_t> columns;
  std::span<const std::int64_t> starts;

  // Throws std::invalid_argument unless all of that holds.
  void check() const;
};

// Codes a matrix of any real or whole numbers. Throws std::invalid_argument if it holds infinity,
// if it holds whole numbers that no threshold of type double can tell apart, or if one of the
// columns of categories holds anything but whole numbers from 0 to 65,534.
template <class T>
Codes make_codes(const MatrixView<T>& X, int n_threads, const Poll& poll,
                 std::span<const std::size_t> category_columns = {});

// The same for float and double, without categories.
template <class T>
Codes make_codes(const SparseView<T>& X, int n_threads, const Poll& poll);

// The codes of columns that have been coded: everything but the bytes, the tables and the flags of
// the columns is made. Throws std::invalid_argument unless every code is in its column's table.
Codes join_columns(std::vector<Column> columns, std::size_t n_rows, int n_threads,
                   const Poll& poll);

// The table of a column (Column::low and high) from its distinct values, in ascending order, and
// the number of rows that have each. `number` is the column's, for errors.
template <class T>
Column make_table(std::span<const T> values, std::span<const std::int64_t> n_rows,
                  std::size_t number);

}  // namespace hardwood
