#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "check.hpp"
#include "hardwood/any_criterion.hpp"
#include "hardwood/coarse_order.hpp"
#include "hardwood/feature_cut.hpp"

using namespace hardwood;

namespace {

// Some of the codes are as good as any other for telling classes apart, many say nothing, and one
// may be much more frequent than the others.
struct LargeNode {
  std::vector<WholeSample> samples;
  std::vector<std::uint16_t> codes;
  std::vector<double> counts;
  CodeRange range{65535, 0};

  LargeNode(std::size_t n_rows, std::uint32_t n_codes, std::size_t n_classes, int signal,
            bool is_often_one, std::mt19937& rng)
      : counts(n_classes, 0) {
    for (std::uint32_t i = 0; i < n_rows; ++i) {
      std::uint32_t code = rng() % n_codes;
      if (is_often_one && rng() % 3) code = 5;
      std::uint32_t label = static_cast<std::uint32_t>(rng() % n_classes);
      if (static_cast<int>(rng() % 10) < signal) label = code * 3 / n_codes % n_classes;
      samples.push_back(
          {i, static_cast<std::uint16_t>(label), static_cast<std::uint16_t>(1 + rng() % 3)});
      codes.push_back(static_cast<std::uint16_t>(code));
      counts[label] += samples.back().weight;
      range = {std::min(range.first, code), std::max(range.last, code)};
    }
  }
};

struct Best {
  double score;
  std::uint32_t last_left, first_right;
};

Best best_of(CutScan<WholeSample>& scan, const Workspace<WholeSample>& space) {
  double score = -std::numeric_limits<double>::infinity();
  const std::size_t at = scan.best(space, 0, 0, score);
  return {score, space.entry[at].code, space.entry[at + 1].code};
}

}  // namespace

// Ordering only what matters finds the same cut as ordering all samples, the first of the best, and
// nothing only where nothing is better.
TEST_CASE(a_coarse_order_has_the_best_cut) {
  std::mt19937 rng(0);
  std::array<int, 3> n_results{};
  for (const auto* name : {"gini", "sqrt_gini", "ne"})
    for (std::size_t n_rows : {512, 1500, 5000, 30000})
      for (std::uint32_t n_codes : {600, 4000, 60000})
        for (std::size_t n_classes : {2, 3, 10})
          for (int signal : {0, 3, 9, 10})
            for (bool is_often_one : {false, true}) {
              const LargeNode large(n_rows, n_codes, n_classes, signal, is_often_one, rng);
              CriterionSpec spec{name};
              if (spec.name == "ne") spec.parameters = {0.5};
              const double weight = std::accumulate(large.counts.begin(), large.counts.end(), 0.0);
              const auto criterion = make_criterion(spec, {n_classes, weight});
              const auto scan = make_scan<WholeSample>(*criterion, n_classes);
              const NodeContext node{{large.counts, weight}, n_rows, 1, 0, false, {}};
              scan->start(node);
              if (!scan->takes_bins()) continue;
              Workspace<WholeSample> space(n_codes);
              space.make_room(n_rows);
              order_samples<WholeSample>(large.samples, large.codes.data(), large.range, n_classes,
                                         true, space);
              const Best expected = best_of(*scan, space);

              CoarseOrder coarse;
              const double none = -std::numeric_limits<double>::infinity();
              const double much = 0.01 * std::abs(expected.score);
              for (const double to_beat : {none, expected.score, expected.score + much}) {
                coarse.start_node();
                const CoarseResult result =
                    coarse.order(large.samples, large.codes.data(), large.range, n_classes, to_beat,
                                 *scan, space);
                ++n_results[static_cast<std::size_t>(result)];
                if (result == CoarseResult::nothing) CHECK(to_beat > expected.score);
                if (result != CoarseResult::ordered) continue;
                CHECK(space.size <= n_rows);
                const std::span entries = std::span(space.entry).first(space.size);
                CHECK(std::ranges::is_sorted(entries, {}, &Entry<std::uint32_t>::code));
                std::vector<double> counts(n_classes, 0);
                for (const auto& entry : entries) counts[entry.label] += entry.weight;
                CHECK(counts == large.counts);
                if (to_beat > expected.score) continue;
                const Best best = best_of(*scan, space);
                CHECK(best.score == expected.score);
                CHECK(best.last_left == expected.last_left);
                CHECK(best.first_right == expected.first_right);
              }
            }
  for (const int n : n_results) CHECK(n > 50);
}

// Where cuts may not be allowed, or sums of squares are not exact, all samples are ordered.
TEST_CASE(bins_need_cuts_that_are_all_allowed) {
  const std::vector<double> counts{30000, 30000};
  const auto criterion = make_criterion({"gini"}, {2, 60000});
  const auto scan = make_scan<WholeSample>(*criterion, 2);
  auto takes_bins = [&](std::size_t n_rows, std::size_t min_rows, double min_weight, double n) {
    const NodeContext node{{counts, n}, n_rows, min_rows, min_weight, false, {}};
    scan->start(node);
    return scan->takes_bins();
  };
  CHECK(takes_bins(60000, 1, 0, 60000));
  CHECK(!takes_bins(60000, 2, 0, 60000));
  CHECK(!takes_bins(60000, 1, 1.5, 60000));
  CHECK(!takes_bins(60000, 1, 0, 1e9));
  CHECK(!takes_bins(300, 1, 0, 60000));
}
