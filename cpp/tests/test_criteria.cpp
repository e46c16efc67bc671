#include <algorithm>
#include <random>
#include <vector>

#include "check.hpp"
#include "criterion_list.hpp"
#include "hardwood/any_criterion.hpp"
#include "hardwood/criteria.hpp"

using namespace hardwood;

namespace {

// Those of the records, and parameters at the ends of their ranges.
std::vector<CriterionSpec> all() {
  auto specs = named_criteria();
  for (const double lam : {0.0, 0.4, 1.0}) specs.push_back({"ne", {lam}});
  for (const double q : {0.0, 0.01, 0.999, 2.0}) specs.push_back({"gce", {q}});
  specs.push_back({"credal", {0.01}});
  return specs;
}

double total(const std::vector<double>& counts) {
  double sum = 0;
  for (double c : counts) sum += c;
  return sum;
}

template <class Sum>
void set_least(Summary<Sum>& side, const std::vector<double>& counts) {
  side.min = *std::ranges::min_element(counts);
  side.n_min = static_cast<double>(std::ranges::count(counts, side.min));
}

}  // namespace

TEST_CASE(proportional_children_gain_nothing) {
  for (const CriterionSpec& spec : all())
    for (std::size_t n_classes : {2, 3, 7}) {
      if (spec.name == "ranking" && n_classes > 2) continue;
      // Credal gains less than nothing here: its extra mass weighs more in smaller nodes.
      std::mt19937 rng(7);
      for (int trial = 0; trial < 200; ++trial) {
        std::vector<double> left(n_classes), right(n_classes), parent(n_classes);
        const double times = 1 + rng() % 50;
        for (std::size_t k = 0; k < n_classes; ++k) {
          left[k] = rng() % 1000;
          right[k] = times * left[k];
          parent[k] = left[k] + right[k];
        }
        if (total(left) == 0) continue;
        const FitContext context{n_classes, total(parent)};
        with_criterion(spec, context, [&](const auto& c) {
          CHECK(c.gain({parent, total(parent)}, {left, total(left)}, {right, total(right)}) == 0);
        });
      }
    }
}

// The scan's sums find the split that the counts call best.
TEST_CASE(sums_agree_with_counts) {
  std::mt19937 rng(3);
  constexpr int n_samples = 300;
  for (const CriterionSpec& spec : all())
    for (std::size_t n_classes : {2, 6}) {
      if (spec.name == "ranking" && n_classes > 2) continue;
      const FitContext context{n_classes, 3 * n_samples};
      with_criterion(spec, context, [&]<class C>(const C& c) {
        if constexpr (SummedCriterion<C>) {
          if (!c.can_sum()) return;
          using Side = Summary<typename C::Sum>;
          std::vector<std::pair<std::size_t, int>> samples;
          for (int i = 0; i < n_samples; ++i)
            samples.push_back({std::min(rng() % n_classes, rng() % n_classes), 1 + rng() % 3});
          auto add = [&](std::vector<double>& counts, Side& side, int i) {
            const auto [k, w] = samples[static_cast<std::size_t>(i)];
            side.sum += c.step(static_cast<std::int64_t>(counts[k]), w);
            counts[k] += w;
            side.n += w;
            side.max = std::max(side.max, counts[k]);
          };
          double best_by_sums = -1e300, best_by_counts = -1e300, counts_at_best = 0;
          for (int cut = 1; cut < n_samples; ++cut) {
            std::vector<double> left(n_classes, 0), right(n_classes, 0);
            Side left_sums{}, right_sums{};
            for (int i = 0; i < cut; ++i) add(left, left_sums, i);
            for (int i = cut; i < n_samples; ++i) add(right, right_sums, i);
            set_least(left_sums, left);
            set_least(right_sums, right);
            const double by_counts =
                c.score(Counts{left, left_sums.n}, Counts{right, right_sums.n});
            const double by_sums = c.score(left_sums, right_sums);
            best_by_counts = std::max(best_by_counts, by_counts);
            if (by_sums > best_by_sums) {
              best_by_sums = by_sums;
              counts_at_best = by_counts;
            }
          }
          CHECK(check::near(counts_at_best, best_by_counts, 1e-12));
        }
      });
    }
}

TEST_CASE(credal_fills_the_smallest_counts) {
  const FitContext context{3, 100};
  const Credal credal(context, 3);
  const std::vector<double> counts{0, 1, 10};
  CHECK(check::near(credal.water_level({counts, 11}), 2, 1e-15));
  const double h = -(2 * (2.0 / 14) * std::log(2.0 / 14) + 10.0 / 14 * std::log(10.0 / 14));
  CHECK(check::near(credal.impurity({counts, 11}), h, 1e-14));
}

TEST_CASE(credal_needs_but_sums_where_the_mass_is_small) {
  std::mt19937 rng(11);
  CHECK(!Credal({3, 100}, 1.5).can_sum());
  CHECK(!Credal({3, 100, 0.25}, 1).can_sum());
  for (const double mass : {1.0, 0.3, 1e-3})
    for (std::size_t n_classes : {2, 3, 20})
      for (const unsigned most : {2u, 5u, 1000u}) {
        const Credal credal({n_classes, 1000.0 * static_cast<double>(n_classes)}, mass);
        CHECK(credal.can_sum());
        for (int trial = 0; trial < 100; ++trial) {
          std::vector<double> counts(n_classes);
          for (double& count : counts) count = rng() % most;
          Summary<Credal::Sum> side{total(counts), 0, 0};
          if (side.n == 0) continue;
          for (const double count : counts)
            side.sum += credal.step(0, static_cast<std::int64_t>(count));
          set_least(side, counts);
          const double by_counts = credal.impurity(Counts{counts, side.n});
          CHECK(check::near(credal.impurity(side) / credal.fixed_point.scale, by_counts, 1e-9));
        }
      }
}

TEST_CASE(wrong_parameters_are_refused) {
  const CriterionSpec wrong[] = {{"ne", {-0.1}}, {"ne", {1.1}},   {"ne"},          {"gini", {1}},
                                 {"gce", {-1}},  {"credal", {0}}, {"nonesuch", {}}};
  for (const CriterionSpec& spec : wrong) {
    bool refused = false;
    try {
      with_criterion(spec, {2, 10}, [](const auto&) {});
    } catch (const std::invalid_argument&) {
      refused = true;
    }
    CHECK(refused);
  }
}

// A criterion either tells what a leaf predicts best or says why it cannot.
TEST_CASE(every_record_tells_of_optimal_leaves) {
  for (const auto& [record, has_optimal_leaf] : list_criteria())
    CHECK(has_optimal_leaf == record.why_no_optimal_leaf.empty());
}

TEST_CASE(leaves_predict_optimally) {
  const FitContext context{3, 0, 1, false};
  auto predicted = [&](const CriterionSpec& spec, std::vector<double> counts) {
    make_criterion(spec, context)->predict_optimally(counts);
    return counts;
  };
  const std::vector<double> counts{1, 6, 3}, majority{0, 6, 0};
  CHECK(predicted({"gini"}, counts) == counts);
  CHECK(predicted({"ne", {0}}, counts) == counts);
  CHECK(predicted({"ne", {0.1}}, counts) == counts);
  CHECK(predicted({"ne", {0.9}}, counts) == majority);
  CHECK(predicted({"gce", {1.5}}, counts) == majority);
  const auto squares = predicted({"gce", {0.5}}, counts);
  CHECK(check::near(squares[2] / squares[0], 9, 1e-12));
}
