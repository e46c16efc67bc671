#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "check.hpp"
#include "hardwood/any_criterion.hpp"
#include "hardwood/lane_search.hpp"

using namespace hardwood;

// Every lane is sorted by itself, for any number of rows.
TEST_CASE(lanes_are_sorted) {
  std::mt19937 rng(0);
  constexpr std::size_t n_lanes = kMostLanes;
  alignas(kCacheLine) std::array<std::int32_t, n_lanes * LaneKey::kMostRows> keys;
  for (std::size_t n_rows = 1; n_rows <= LaneKey::kMostRows; n_rows += 1 + n_rows / 20) {
    std::vector<std::vector<std::int32_t>> expected(n_lanes);
    for (std::size_t i = 0; i < n_rows; ++i)
      for (std::size_t lane = 0; lane < n_lanes; ++lane) {
        const std::uint32_t code = lane % 3 ? rng() % 65536 : rng() % 3;
        keys[i * n_lanes + lane] = LaneKey::make(code, LaneKey::payload(rng() % 16, rng() % 9));
        CHECK(LaneKey::code(keys[i * n_lanes + lane]) == code);
        expected[lane].push_back(keys[i * n_lanes + lane]);
      }
    sort_lanes<n_lanes>(keys.data(), n_rows);
    for (std::size_t lane = 0; lane < n_lanes; ++lane) {
      std::ranges::sort(expected[lane]);
      for (std::size_t i = 0; i < n_rows; ++i) CHECK(keys[i * n_lanes + lane] == expected[lane][i]);
    }
  }
}

namespace {

// A node of a table whose columns have from two values to as many as rows, some of them missing.
struct SmallNode {
  std::vector<double> values;
  std::vector<WholeSample> samples;
  std::vector<double> counts;
  Codes codes;

  SmallNode(std::size_t n_rows, std::size_t n_columns, std::size_t n_classes, std::mt19937& rng)
      : counts(n_classes, 0) {
    for (std::size_t i = 0; i < n_rows * n_columns; ++i) {
      const std::size_t column = i % n_columns;
      const auto n_values =
          static_cast<std::uint32_t>(column % 4 ? 2 << column % 9 : 1 + column % 8);
      values.push_back(column % 7 == 6 && rng() % 5 == 0 ? std::numeric_limits<double>::quiet_NaN()
                                                         : static_cast<double>(rng() % n_values));
    }
    for (std::uint32_t i = 0; i < n_rows; ++i) {
      const auto label = static_cast<std::uint16_t>(i < 2 ? i : rng() % n_classes);
      samples.push_back({i, label, static_cast<std::uint16_t>(1 + rng() % 3)});
      counts[label] += samples.back().weight;
    }
    const MatrixView<double> X{values.data(), n_rows, n_columns,
                               static_cast<std::ptrdiff_t>(n_columns), 1};
    codes = make_codes(X, 1, {});
  }
};

}  // namespace

// Side by side, features find the cut that they find one after the other: the same score, to the
// last bit, and the first of equals.
TEST_CASE(features_side_by_side_find_the_same_cut) {
  std::mt19937 rng(1);
  for (const auto* name : {"gini", "sqrt_gini", "ne"})
    for (std::size_t n_rows : {2, 3, 5, 16, 17, 60, 255, 256})
      for (std::size_t n_classes : {2, 3, 5, 9, 16})
        for (std::size_t n_columns : {3, 8, 20, 32})
          for (std::size_t min_rows : {1, 2}) {
            if (n_rows < 2 * min_rows) continue;
            const SmallNode small(n_rows, n_columns, n_classes, rng);
            CriterionSpec spec{name};
            if (spec.name == "ne") spec.parameters = {0.5};
            const double weight = std::accumulate(small.counts.begin(), small.counts.end(), 0.0);
            const auto criterion = make_criterion(spec, {n_classes, weight});
            SearchOptions options;
            options.max_features = n_columns;
            const NodeContext node{{small.counts, weight}, n_rows, min_rows, 1.5, false, {}};
            FeatureCut<WholeSample> search(small.codes, *criterion, options, n_classes);
            search.start_tree(false);
            search.start_node(small.samples, node, nullptr);

            std::vector<std::uint32_t> features(n_columns);
            std::iota(features.begin(), features.end(), 0u);
            Cut expected;
            std::vector<bool> is_constant(n_columns, false);
            std::vector<std::uint16_t> own(n_rows);
            for (std::size_t f = n_columns; f-- > 0 && !expected.perfect;) {
              gather<WholeSample>(small.codes, std::span(features).subspan(f, 1), small.samples,
                                  own.data(), n_rows);
              is_constant[f] = !search.look_at(features[f], own.data(), 0, expected);
            }

            LaneSearch lanes(small.codes, n_columns);
            CHECK(lanes.start(small.samples, node));
            std::array<bool, kMostLaneFeatures> constant{};
            Cut cut;
            lanes.add(features, constant.data(), cut.score, search);
            const std::size_t before = lanes.settle(search, cut);
            CHECK(cut.found == expected.found);
            if (!cut.found) continue;
            CHECK(cut.score == expected.score);
            CHECK(cut.feature == expected.feature);
            CHECK(cut.last_left == expected.last_left);
            CHECK(cut.first_right == expected.first_right);
            CHECK(cut.missing_left == expected.missing_left);
            CHECK(before == n_columns - 1 - cut.feature);
            // One class left at most on either side matters only where there are two.
            CHECK(cut.perfect == expected.perfect);
            for (std::size_t f = cut.perfect ? cut.feature : 0; f < n_columns; ++f)
              CHECK(constant[f] == is_constant[f]);
          }
}

// What does not fit in keys is told.
TEST_CASE(keys_have_room_for_some_classes_and_weights) {
  std::mt19937 rng(2);
  SmallNode small(40, 3, 17, rng);
  LaneSearch lanes(small.codes, 3);
  NodeContext node{{small.counts, 0}, 40, 1, 0, false, {}};
  std::vector<double> all(17, 1), some(17, 1);
  some[9] = 0;
  node.counts.of_class = all;
  CHECK(!lanes.start(small.samples, node));
  for (WholeSample& sample : small.samples) sample.label = 1;
  node.counts.of_class = some;
  CHECK(lanes.start(small.samples, node));
  small.samples[7].weight = LaneKey::kMostWeight;
  CHECK(lanes.start(small.samples, node));
  small.samples[7].weight = LaneKey::kMostWeight + 1;
  CHECK(!lanes.start(small.samples, node));
}
