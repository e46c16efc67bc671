#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"
#include "hardwood/codes.hpp"
#include "hardwood/threshold.hpp"

using namespace hardwood;

namespace {

template <class T>
Codes code(const std::vector<T>& values, std::size_t n_columns = 1) {
  const std::size_t n = values.size() / n_columns;
  return make_codes<T>({values.data(), n, n_columns, static_cast<std::ptrdiff_t>(n_columns), 1}, 2,
                       {});
}

std::uint32_t code_of(const Column& column, std::size_t row) {
  return column.wide ? column.codes<std::uint16_t>()[row] : column.codes<std::uint8_t>()[row];
}

// Codes are ranks: equal where values are, ordered as values are, and their ranges hold the values.
template <class T>
void check_ranks(const std::vector<T>& values, const Column& column) {
  std::vector<T> distinct;
  for (T v : values)
    if (!std::isnan(v)) distinct.push_back(v);
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  CHECK(column.n_codes == std::min<std::size_t>(distinct.size(), kMaxCodes));
  const double* const low = lowest_values(column);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t c = code_of(column, i);
    if (std::isnan(values[i])) {
      CHECK(c == column.n_codes && column.has_missing);
      continue;
    }
    CHECK(c < column.n_codes && low[c] <= values[i] && values[i] <= column.high[c]);
    if (distinct.size() <= kMaxCodes)
      CHECK(c == std::lower_bound(distinct.begin(), distinct.end(), values[i]) - distinct.begin());
  }
  for (std::size_t c = 1; c < column.n_codes; ++c) CHECK(column.high[c - 1] < low[c]);
}

}  // namespace

TEST_CASE(codes_are_ranks) {
  std::mt19937 rng(0);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t n : {1, 2, 10, 300, 1000, 200000}) {
    std::vector<double> whole(n), real(n), missing(n), zeros(n), huge(n);
    for (std::size_t i = 0; i < n; ++i) {
      whole[i] = static_cast<double>(rng() % 500) - 100;
      real[i] = std::normal_distribution<>()(rng);
      missing[i] = rng() % 3 == 0 ? nan : real[i];
      zeros[i] = rng() % 2 ? 0.0 : -0.0;
      huge[i] = (rng() % 2 ? 1 : -1) * std::numeric_limits<double>::max() / (1 + rng() % 9);
    }
    for (const auto& values : {whole, real, missing, zeros, huge, std::vector<double>(n, nan)})
      check_ranks(values, code(values).columns[0]);
    const std::vector<float> narrow(real.begin(), real.end());
    check_ranks(narrow, code(narrow).columns[0]);
  }
}

// Where the leading bits of most values are the same, all bits are sorted; where those of a few
// are, these few are sorted again.
TEST_CASE(values_that_differ_in_few_bits_are_ranked) {
  std::mt19937 rng(2);
  for (const std::size_t n : {600, 5000}) {
    std::vector<double> near(n), few_near(n), outlier(n);
    for (std::size_t i = 0; i < n; ++i) {
      near[i] = 1 + 1e-14 * static_cast<double>(rng() % 40) + static_cast<double>(rng() % 3);
      few_near[i] = i % 50 ? std::normal_distribution<>()(rng) : near[i];
      outlier[i] = i ? 1 + 1e-9 * std::normal_distribution<>()(rng) : 1e300;
    }
    for (const auto& values : {near, few_near, outlier})
      check_ranks(values, code(values).columns[0]);
  }
}

// Bytes of which all values occur have codes of two bytes.
TEST_CASE(bytes_are_ranked_in_any_shape) {
  std::mt19937 rng(3);
  for (const std::size_t n_columns : {1, 15, 16, 33, 130})
    for (const std::size_t n : {1, 63, 64, 700}) {
      std::vector<std::int8_t> values(n * n_columns);
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<std::int8_t>(i % n_columns % 3 ? rng() % 5 : rng() % 256);
      const Codes codes = code(values, n_columns);
      for (std::size_t f = 0; f < n_columns; ++f) {
        std::vector<double> column(n);
        for (std::size_t i = 0; i < n; ++i) column[i] = values[i * n_columns + f];
        check_ranks(column, codes.columns[f]);
        for (std::size_t i = 0; i < n; ++i) {
          const std::uint8_t* at =
              codes.rows.data() + i * codes.row_stride + codes.fields[f].offset;
          std::uint16_t from_row = *at;
          if (codes.columns[f].wide) std::memcpy(&from_row, at, 2);
          CHECK(from_row == code_of(codes.columns[f], i));
        }
      }
    }
}

TEST_CASE(quantile_codes_share_the_rows) {
  std::vector<double> values(1000000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) * 1.5;
  const Codes codes = code(values);
  std::vector<int> rows(kMaxCodes, 0);
  for (std::size_t i = 0; i < values.size(); ++i) ++rows[code_of(codes.columns[0], i)];
  CHECK(*std::max_element(rows.begin(), rows.end()) <= 17);
  CHECK(*std::min_element(rows.begin(), rows.end()) >= 1);
}

TEST_CASE(rows_and_columns_hold_the_same_codes) {
  std::mt19937 rng(1);
  for (std::size_t n_columns : {1, 2, 3, 17, 70}) {
    const std::size_t n = 500;
    std::vector<float> values(n * n_columns);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(rng() % (i % n_columns % 2 ? 3 : 100000));
    const Codes codes = code(values, n_columns);
    for (std::size_t f = 0; f < n_columns; ++f)
      for (std::size_t i = 0; i < n; ++i) {
        const Column& column = codes.columns[f];
        const std::uint8_t* at = codes.rows.data() + i * codes.row_stride + codes.fields[f].offset;
        std::uint16_t from_row = *at;
        if (column.wide) std::memcpy(&from_row, at, 2);
        CHECK(from_row == code_of(column, i));
      }
  }
}

TEST_CASE(columns_of_mostly_one_value_list_the_other_rows) {
  const std::size_t n = 1000;
  for (const std::size_t every : {2, 7, 8, 9, 100, 2000}) {
    std::vector<float> values(n, 5);
    std::vector<std::uint32_t> others;
    for (std::size_t i = every - 1; i < n; i += every) {
      values[i] = i % 3 ? 2.0f : std::numeric_limits<float>::quiet_NaN();
      others.push_back(static_cast<std::uint32_t>(i));
    }
    const Codes codes = code(values, 1);
    const Column& column = codes.columns[0];
    CHECK(column.mostly_one == (every >= 8));
    CHECK(codes.lists_rows == column.mostly_one);
    CHECK(column.other_rows == (every >= 8 ? others : std::vector<std::uint32_t>{}));
    if (every >= 8) CHECK(column.common == code_of(column, 0));
  }
}

TEST_CASE(infinity_is_refused) {
  bool refused = false;
  try {
    code(std::vector<double>{1, std::numeric_limits<double>::infinity()});
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  CHECK(refused);
}
