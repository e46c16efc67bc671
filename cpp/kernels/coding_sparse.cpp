// Makes the codes of a sparse matrix (codes.hpp).
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "hardwood/codes.hpp"
#include "hardwood/column_codes.hpp"
#include "hardwood/parallel.hpp"
#include "hardwood/threshold.hpp"

namespace hardwood {

namespace {

// Zeros that are stored are zeros like the others.
template <class T>
bool is_entry(T value) {
  return value != T{0};
}

// Makes lists of the entries' rows, column by column, with their values beside them.
template <class T>
std::vector<T> transpose(const SparseView<T>& X, EntryLists& lists) {
  lists.starts.assign(X.n_columns + 1, 0);
  for (std::size_t i = 0; i < X.values.size(); ++i)
    lists.starts[static_cast<std::size_t>(X.columns[i]) + 1] += is_entry(X.values[i]);
  for (std::size_t f = 0; f < X.n_columns; ++f) lists.starts[f + 1] += lists.starts[f];
  lists.entries.resize(lists.starts.back());
  std::vector<T> values(lists.starts.back());
  std::vector<std::size_t> next(lists.starts.begin(), lists.starts.end() - 1);
  for (std::size_t row = 0; row < X.n_rows; ++row)
    for (auto i = static_cast<std::size_t>(X.starts[row]);
         i < static_cast<std::size_t>(X.starts[row + 1]); ++i) {
      if (!is_entry(X.values[i])) continue;
      const std::size_t place = next[static_cast<std::size_t>(X.columns[i])]++;
      lists.entries[place].place = static_cast<std::uint32_t>(row);
      values[place] = X.values[i];
    }
  return values;
}

// Codes as make_codes for a matrix that is not sparse does, zeros between the other values.
template <class T>
void code_column(std::span<const T> values, std::size_t n_rows, std::size_t number, Column& column,
                 std::span<CodeEntry> entries, ValueSorter<T>& sorter) {
  if (std::ranges::any_of(values, [](T value) { return std::isinf(value); })) throw_infinity();
  const std::span<const RankedPlace> sorted = sorter.sort(values);
  const std::size_t n_zeros = n_rows - values.size();
  bool zero_is_next = n_zeros > 0;
  CodeGiver<T> giver(column, number, count_distinct(sorted) + zero_is_next,
                     sorted.size() + n_zeros);
  auto give_zero = [&] {
    column.common = giver.next(T{0}, n_zeros);
    zero_is_next = false;
  };
  for_each_value(values, sorted, [&](T value, std::size_t first, std::size_t last) {
    if (zero_is_next && value > T{0}) give_zero();
    const std::uint16_t code = giver.next(value, last - first);
    for (std::size_t i = first; i < last; ++i) entries[sorted[i].place].code = code;
  });
  if (zero_is_next) give_zero();
  column.has_missing = sorted.size() < values.size();
  column.wide = column.n_codes > kMaxNarrowCodes;
  if (column.has_missing)
    for (std::size_t i = 0; i < values.size(); ++i)
      if (is_missing(values[i])) entries[i].code = static_cast<std::uint16_t>(column.n_codes);
}

// Whether other values share the code of zero, as they may where there are too many.
bool shares_zero(const Column& column, std::size_t n_entries, std::size_t n_rows) {
  return n_entries < n_rows && !column.is_exact &&
         column.low[column.common] < column.high[column.common];
}

// Takes entries with the common code out.
void drop_common(Codes& codes) {
  EntryLists& lists = codes.of_columns;
  std::size_t end = 0, first = 0;
  for (std::size_t f = 0; f < codes.n_columns(); ++f) {
    const std::size_t last = lists.starts[f + 1];
    const Column& column = codes.columns[f];
    const bool drops = shares_zero(column, last - first, codes.n_rows);
    for (std::size_t i = first; i < last; ++i)
      if (!drops || lists.entries[i].code != column.common) lists.entries[end++] = lists.entries[i];
    first = last;
    lists.starts[f + 1] = end;
  }
  lists.entries.resize(end);
}

EntryLists row_lists(const EntryLists& of_columns, std::size_t n_rows) {
  EntryLists lists;
  lists.starts.assign(n_rows + 1, 0);
  for (const CodeEntry& entry : of_columns.entries) ++lists.starts[entry.place + 1];
  for (std::size_t row = 0; row < n_rows; ++row) lists.starts[row + 1] += lists.starts[row];
  lists.entries.resize(of_columns.entries.size());
  std::vector<std::size_t> next(lists.starts.begin(), lists.starts.end() - 1);
  for (std::size_t f = 0; f + 1 < of_columns.starts.size(); ++f)
    for (const CodeEntry& entry : of_columns.of(f))
      lists.entries[next[entry.place]++] = {static_cast<std::uint32_t>(f), entry.code};
  return lists;
}

}  // namespace

template <class T>
void SparseView<T>::check() const {
  bool is_right = starts.size() == n_rows + 1 && starts.front() == 0 &&
                  values.size() == columns.size() &&
                  starts.back() == static_cast<std::int64_t>(values.size());
  for (std::size_t row = 0; is_right && row < n_rows; ++row)
    is_right = starts[row] <= starts[row + 1];
  for (std::size_t row = 0; is_right && row < n_rows; ++row) {
    std::int64_t last = -1;
    for (auto i = static_cast<std::size_t>(starts[row]);
         is_right && i < static_cast<std::size_t>(starts[row + 1]); ++i) {
      is_right = columns[i] > last && static_cast<std::size_t>(columns[i]) < n_columns;
      last = columns[i];
    }
  }
  if (!is_right)
    throw std::invalid_argument(
        "sparse X must be in the canonical CSR format: ascending column indices within each row, "
        "in range and without duplicates");
}

template <class T>
Codes make_codes(const SparseView<T>& X, int n_threads, const Poll& poll) {
  X.check();
  Codes codes;
  codes.is_sparse = true;
  codes.n_rows = X.n_rows;
  codes.columns.resize(X.n_columns);
  codes.fields.resize(X.n_columns);
  codes.sparse_fields.resize(X.n_columns);
  const std::vector<T> values = transpose(X, codes.of_columns);
  constexpr std::size_t block = 512;
  parallel_for(
      (X.n_columns + block - 1) / block, n_threads, poll, [&](std::size_t b, const Poll& own_poll) {
        own_poll();
        ValueSorter<T> sorter;
        const std::size_t last = std::min(X.n_columns, (b + 1) * block);
        for (std::size_t f = b * block; f < last; ++f) {
          const std::size_t start = codes.of_columns.starts[f];
          const std::size_t n = codes.of_columns.starts[f + 1] - start;
          code_column(std::span(values).subspan(start, n), X.n_rows, f, codes.columns[f],
                      std::span(codes.of_columns.entries).subspan(start, n), sorter);
          index_values(codes.columns[f]);
          const Column& column = codes.columns[f];
          codes.fields[f] = {.offset = 0,
                             .mask = 65535,
                             .common = 0,
                             .has_missing = column.has_missing,
                             .is_category = false,
                             .often_one = false};
          codes.sparse_fields[f] = {static_cast<std::uint16_t>(column.common),
                                    static_cast<std::uint16_t>(column.n_codes), column.has_missing};
        }
      });
  drop_common(codes);
  codes.of_rows = row_lists(codes.of_columns, X.n_rows);
  return codes;
}

template struct SparseView<float>;
template struct SparseView<double>;
template Codes make_codes(const SparseView<float>&, int, const Poll&);
template Codes make_codes(const SparseView<double>&, int, const Poll&);

}  // namespace hardwood
