#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "check.hpp"
#include "hardwood/codes.hpp"
#include "hardwood/predict.hpp"
#include "hardwood/row_hashes.hpp"

using namespace hardwood;

namespace {

// A matrix twice: with all its values, and with those that are stored.
struct Twice {
  std::size_t n, d;
  std::vector<double> dense, values;
  std::vector<std::int32_t> columns;
  std::vector<std::int64_t> starts{0};

  Twice(std::size_t n, std::size_t d, unsigned seed) : n(n), d(d), dense(n * d) {
    std::mt19937 rng(seed);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < d; ++j) {
        if (rng() % 5 < 5 - 5 * j / d && j > 0) continue;
        double value = static_cast<double>(rng() % 9) - 4;
        if (rng() % 20 == 0) value = std::numeric_limits<double>::quiet_NaN();
        dense[i * d + j] = value;
        values.push_back(value == 0 ? -0.0 : value);
        columns.push_back(static_cast<std::int32_t>(j));
      }
      starts.push_back(static_cast<std::int64_t>(values.size()));
    }
  }

  MatrixView<double> matrix() const {
    return {dense.data(), n, d, static_cast<std::ptrdiff_t>(d), 1};
  }
  SparseView<double> sparse() const { return {n, d, values, columns, starts}; }
};

std::uint32_t code_of(const Column& column, std::size_t row) {
  return column.wide ? column.codes<std::uint16_t>()[row] : column.codes<std::uint8_t>()[row];
}

template <class Call>
bool refuses(const Call& call) {
  try {
    call();
    return false;
  } catch (const std::invalid_argument&) {
    return true;
  }
}

}  // namespace

TEST_CASE(sparse_codes_are_those_of_the_dense_matrix) {
  for (std::size_t n : {1, 7, 100}) {
    const Twice data(n, 6, static_cast<unsigned>(n));
    const Codes dense = make_codes(data.matrix(), 1, {}), sparse = make_codes(data.sparse(), 2, {});
    CHECK(sparse.is_sparse && sparse.n_rows == n && sparse.n_columns() == 6);
    std::size_t n_in_rows = 0;
    for (std::size_t i = 0; i < n; ++i) n_in_rows += sparse.of_rows.of(i).size();
    CHECK(n_in_rows == sparse.of_columns.entries.size());
    for (std::size_t f = 0; f < 6; ++f) {
      const Column &one = dense.columns[f], &other = sparse.columns[f];
      CHECK(one.low == other.low && one.high == other.high);
      CHECK(one.n_codes == other.n_codes && one.has_missing == other.has_missing);
      std::vector<std::uint32_t> codes(n, other.common);
      for (const CodeEntry& entry : sparse.of_columns.of(f)) codes[entry.place] = entry.code;
      for (std::size_t i = 0; i < n; ++i) CHECK(codes[i] == code_of(one, i));
    }
  }
}

TEST_CASE(equal_rows_have_equal_hashes) {
  const Twice data(200, 5, 3);
  const std::vector<std::size_t> starts{0, 2, 5};
  std::vector<std::uint64_t> dense(400), sparse(400);
  hash_rows(data.matrix(), starts, 2, {}, dense);
  hash_rows(data.sparse(), starts, 1, {}, sparse);
  CHECK(dense == sparse);
  const std::vector<std::int64_t> whole{0, 1, 1, 0, (1LL << 60) + 1, 1LL << 60};
  std::vector<std::uint64_t> of_whole(3), of_bytes(2);
  hash_rows(MatrixView<std::int64_t>{whole.data(), 3, 2, 2, 1}, std::vector<std::size_t>{0, 2}, 1,
            {}, of_whole);
  const std::vector<std::uint8_t> bytes{0, 1, 1, 0};
  hash_rows(MatrixView<std::uint8_t>{bytes.data(), 2, 2, 2, 1}, std::vector<std::size_t>{0, 2}, 1,
            {}, of_bytes);
  CHECK(of_whole[0] == of_bytes[0] && of_whole[1] == of_bytes[1] && of_whole[0] != of_whole[1]);
  CHECK(of_whole[2] != of_whole[0]);
}

TEST_CASE(matrices_that_are_not_canonical_are_refused) {
  const Twice data(20, 4, 1);
  auto is_refused = [](const Twice& wrong) {
    CHECK(refuses([&] { make_codes(wrong.sparse(), 1, {}); }));
    CHECK(refuses([&] { SparseRows<double>(wrong.sparse()); }));
  };
  Twice wrong = data;
  wrong.columns[0] = 4;
  is_refused(wrong);
  wrong.columns[0] = -1;
  is_refused(wrong);
  wrong = data;
  wrong.starts[1] = wrong.starts[2] + 1;
  is_refused(wrong);
  wrong = data;
  wrong.starts.back() += 1;
  is_refused(wrong);
  wrong = data;
  wrong.starts.pop_back();
  is_refused(wrong);
}

TEST_CASE(whole_numbers_beyond_doubles_are_refused) {
  auto code = [](const std::vector<std::int64_t>& values) {
    return make_codes(MatrixView<std::int64_t>{values.data(), values.size(), 1, 1, 1}, 1, {});
  };
  constexpr std::int64_t large = 1LL << 53;
  CHECK(refuses([&] { code({large, large + 1}); }));
  CHECK(refuses([&] { code({-large - 1, -large, 3}); }));
  CHECK(code({large, large + 2, large}).columns[0].n_codes == 2);
  CHECK(code({std::numeric_limits<std::int64_t>::min(), 0, large - 1}).columns[0].n_codes == 3);
}
