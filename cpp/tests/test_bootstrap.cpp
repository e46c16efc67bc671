#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "check.hpp"
#include "hardwood/bootstrap.hpp"

using namespace hardwood;

namespace {

template <class Make>
bool is_refused(const Make& make) {
  try {
    make();
  } catch (const std::invalid_argument&) {
    return true;
  }
  return false;
}

}  // namespace

TEST_CASE(rows_of_a_group_are_drawn_together) {
  const std::vector<std::uint32_t> groups{0, 1, 0, 2, 2, 2, 3};
  const std::vector<double> weights{1, 2, 3, 4, 4, 4, 0.5};
  for (const auto& some : {std::vector<double>{}, weights}) {
    const Bootstrap bootstrap(groups.size(), 5, some, groups);
    for (std::size_t tree = 0; tree < 50; ++tree) {
      const auto times = bootstrap.draw(1, tree);
      CHECK(times[0] == times[2] && times[3] == times[4] && times[4] == times[5]);
      CHECK(times[0] + times[1] + times[3] + times[6] == 5);
      CHECK(std::accumulate(times.begin(), times.end(), 0.0) <= bootstrap.largest_total());
    }
  }
}

TEST_CASE(a_group_is_drawn_in_proportion_to_the_mean_weight_of_its_rows) {
  const std::vector<std::uint32_t> groups{0, 0, 0, 1};
  const std::vector<double> weights{1, 2, 3, 6};
  const auto times = Bootstrap(4, 80000, weights, groups).draw(1, 0);
  CHECK(std::abs(times[0] - 20000.0) < 600);
  CHECK(times[0] + times[3] == 80000);
}

TEST_CASE(groups_of_one_row_each_change_nothing) {
  const std::vector<std::uint32_t> groups{0, 1, 2, 3};
  const std::vector<double> weights{1, 0.3, 3, 6};
  for (const auto& some : {std::vector<double>{}, weights})
    for (std::size_t tree = 0; tree < 20; ++tree)
      CHECK(Bootstrap(4, 4, some).draw(7, tree) == Bootstrap(4, 4, some, groups).draw(7, tree));
}

TEST_CASE(groups_must_be_numbered_one_for_each_row) {
  using Groups = std::vector<std::uint32_t>;
  for (const Groups& wrong : {Groups{0, 1}, Groups{0, 2, 0}, Groups{0, 1, 3}, Groups{1, 1, 1}})
    CHECK(is_refused([&] { Bootstrap(3, 3, {}, wrong); }));
}

namespace {

constexpr std::size_t kUnits = 3 * kDrawBlock + 100;

// Weights from 1 to 5, and a block that nobody would draw from otherwise.
std::vector<std::uint32_t> some_weights() {
  std::vector<std::uint32_t> weights(kUnits);
  for (std::size_t i = 0; i < kUnits; ++i)
    weights[i] = static_cast<std::uint32_t>(i < kDrawBlock ? 1 : 1 + i % 5) << 20;
  return weights;
}

}  // namespace

TEST_CASE(a_range_of_units_is_drawn_as_among_all) {
  const auto weights = some_weights();
  const auto of_blocks = UnitDraws::block_weights(weights);
  const UnitDraws alike(kUnits, kUnits), weighted(kUnits, kUnits, of_blocks, weights);
  const auto of_alike = alike.draw(5, 0, kUnits), of_weighted = weighted.draw(5, 0, kUnits);
  const std::size_t ends[] = {0, 1, 2, 77, 4095, 4096, 4097, 9000, 12288, kUnits};
  for (const std::size_t first : ends)
    for (const std::size_t last : ends) {
      if (first > last) continue;
      auto part = [&](const auto& times) {
        return std::vector<std::uint32_t>(times.begin() + static_cast<std::ptrdiff_t>(first),
                                          times.begin() + static_cast<std::ptrdiff_t>(last));
      };
      CHECK(alike.draw(5, first, last) == part(of_alike));
      // Only the weights of the blocks in question are known.
      const std::size_t begin = first / kDrawBlock * kDrawBlock;
      const std::size_t end = std::min(kUnits, (last + kDrawBlock - 1) / kDrawBlock * kDrawBlock);
      const UnitDraws some(kUnits, kUnits, of_blocks,
                           std::span(weights).subspan(begin, std::max(begin, end) - begin), begin);
      CHECK(some.draw(5, first, last) == part(of_weighted));
    }
}

TEST_CASE(all_draws_are_made_and_trees_differ) {
  const auto weights = some_weights();
  const UnitDraws alike(kUnits, 5000),
      weighted(kUnits, 5000, UnitDraws::block_weights(weights), weights);
  for (const UnitDraws* draws : {&alike, &weighted}) {
    const auto times = draws->draw(1, 0, kUnits);
    CHECK(std::accumulate(times.begin(), times.end(), 0u) == 5000);
    CHECK(times != draws->draw(2, 0, kUnits));
  }
}

// Pearson's statistic of counts against expected shares: about as large as there are counts.
template <class Counts, class Shares>
double chi_squared(const Counts& counts, const Shares& shares, double total) {
  double sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = total * shares(i);
    sum += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  return sum;
}

TEST_CASE(units_are_drawn_in_proportion_to_their_weights) {
  const auto weights = some_weights();
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  const UnitDraws alike(kUnits, 40 * kUnits),
      weighted(kUnits, 40 * kUnits, UnitDraws::block_weights(weights), weights);
  const double total = 40.0 * kUnits, degrees = kUnits - 1;
  const double tolerance = 5 * std::sqrt(2 * degrees);
  for (const std::uint64_t key : {3u, 4u, 5u}) {
    const double of_alike =
        chi_squared(alike.draw(key, 0, kUnits), [](std::size_t) { return 1.0 / kUnits; }, total);
    const double of_weighted = chi_squared(
        weighted.draw(key, 0, kUnits), [&](std::size_t i) { return weights[i] / all; }, total);
    CHECK(std::abs(of_alike - degrees) < tolerance);
    CHECK(std::abs(of_weighted - degrees) < tolerance);
  }
}

TEST_CASE(binomial_numbers_have_their_mean_and_variance) {
  Rng rng(1, 2);
  constexpr int repeats = 20000;
  for (const auto& [n, part, whole] :
       {std::tuple<std::size_t, std::uint64_t, std::uint64_t>{1, 1, 3},
        {10, 1, 2},
        {100, 3, 7},
        {1000, 999, 1000},
        {64, std::uint64_t{1} << 61, (std::uint64_t{1} << 62) + 1}}) {
    const double p = static_cast<double>(part) / static_cast<double>(whole);
    const double mean = static_cast<double>(n) * p, variance = mean * (1 - p);
    double sum = 0, squares = 0;
    for (int i = 0; i < repeats; ++i) {
      const auto drawn = binomial(n, part, whole, rng);
      CHECK(drawn <= n);
      const double off = static_cast<double>(drawn) - mean;
      sum += off;
      squares += off * off;
    }
    CHECK(std::abs(sum / repeats) < 5 * std::sqrt(variance / repeats));
    CHECK(std::abs(squares / repeats / variance - 1) < 0.1);
  }
  CHECK(binomial(7, 3, 3, rng) == 7 && binomial(7, 0, 3, rng) == 0 && binomial(0, 1, 3, rng) == 0);
}
