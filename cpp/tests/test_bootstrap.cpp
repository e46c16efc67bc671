#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
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
