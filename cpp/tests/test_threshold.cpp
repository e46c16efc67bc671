#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"
#include "hardwood/codes.hpp"
#include "hardwood/threshold.hpp"

using namespace hardwood;

namespace {

// Where random cuts of the column lie, compared with a search among all codes.
void check_random_cuts(const std::vector<double>& values) {
  const Codes codes = make_codes<double>({values.data(), values.size(), 1, 1, 1}, 1, {});
  const Column& column = codes.columns[0];
  CHECK(column.n_codes > 64);
  std::mt19937 rng(5);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int i = 0; i < 2000; ++i) {
    std::uint32_t first = rng() % column.n_codes, last = rng() % column.n_codes;
    if (first == last) continue;
    if (first > last) std::swap(first, last);
    Cut cut;
    place_at_random(column, {first, last}, unit(rng), cut);
    CHECK(cut.first_right == cut.last_left + 1 && first < cut.first_right &&
          cut.first_right <= last);
    CHECK(cut.last_left == first || column.high[cut.last_left] <= cut.random_threshold);
    CHECK(cut.first_right == last || column.high[cut.first_right] > cut.random_threshold);
  }
}

template <class Draw>
std::vector<double> drawn(std::size_t n, Draw draw) {
  std::mt19937 rng(1);
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(draw(rng));
  return values;
}

}  // namespace

TEST_CASE(random_cuts_lie_between_the_codes_around_their_threshold) {
  check_random_cuts(drawn(3000, std::normal_distribution<double>()));
  check_random_cuts(drawn(3000, std::cauchy_distribution<double>()));  // nearly all in one part
  check_random_cuts(drawn(100, std::uniform_real_distribution<double>(-1, 0)));
  check_random_cuts(drawn(70'000, std::normal_distribution<double>()));  // codes of many values
}

TEST_CASE(random_cuts_lie_there_if_the_range_or_its_inverse_is_no_number) {
  constexpr double largest = std::numeric_limits<double>::max();
  check_random_cuts(drawn(500, [](auto& rng) {
    return (static_cast<double>(rng()) / static_cast<double>(rng.max()) * 2 - 1) * largest;
  }));
  check_random_cuts(
      drawn(500, [](auto& rng) { return static_cast<double>(rng() % 400) * 5e-324; }));
}
