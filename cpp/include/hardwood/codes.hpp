// Rank codes: each column as the ranks of its values.
//
// A value's *code* is its rank among the column's distinct values, one byte where that is enough
// and two bytes otherwise. The missing value is the code after the last. A column with more than
// 65,535 distinct values is cut at that many quantiles, and a code then stands for a range of
// values. The codes are kept twice: column by column, for nodes of many rows, and row by row, for
// nodes of few rows, whose lines then stay in the cache through a whole subtree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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
  std::vector<double> low;   // smallest and largest value of each code:
  std::vector<double> high;  // the same but for columns cut at quantiles
  std::vector<std::uint8_t> bytes;
  // Where nearly all rows have one code: that one, and the rows that have another.
  bool mostly_one = false;
  std::uint32_t common = 0;
  std::vector<std::uint32_t> other_rows;

  template <class Code>
  const Code* codes() const {
    return reinterpret_cast<const Code*>(bytes.data());
  }
};

// What small nodes ask of a column, close together.
struct RowField {
  std::uint32_t offset;  // bytes from the start of a row
  std::uint16_t mask;    // 255 for one-byte codes, which are read together with their neighbour
  bool has_missing;
  bool is_category;
};

struct Codes {
  std::size_t n_rows = 0;
  std::vector<Column> columns;
  std::size_t row_stride = 0;
  std::vector<std::uint8_t> rows;
  std::vector<RowField> fields;  // of the columns
  bool lists_rows = false;       // whether any column does

  std::size_t n_columns() const { return columns.size(); }
};

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

// Codes a matrix of float or double. Throws std::invalid_argument if it holds infinity, or if one
// of the columns of categories holds anything but whole numbers from 0 to 65,534.
template <class T>
Codes make_codes(const MatrixView<T>& X, int n_threads, const Poll& poll,
                 std::span<const std::size_t> category_columns = {});

}  // namespace hardwood
