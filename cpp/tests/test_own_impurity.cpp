#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"
#include "hardwood/codes.hpp"
#include "hardwood/criteria.hpp"
#include "hardwood/expand.hpp"
#include "hardwood/fit.hpp"
#include "hardwood/forest.hpp"

using namespace hardwood;

namespace {

using Piece = ImpurityTable::Piece;

// A table from the value, slope and half the second derivative of a function of the lighter class's
// share, the same whichever class that is.
template <class Taylor>
ImpurityTable make_table(int bits, int octaves, const Taylor& taylor) {
  ImpurityTable table{bits, octaves, {}, {}};
  const std::size_t n_cells = ImpurityTable::n_cells(bits, octaves);
  for (int lighter = 0; lighter < 2; ++lighter)
    for (std::size_t cell = 0; cell < n_cells; ++cell) {
      const auto octave = static_cast<int>((std::max<std::size_t>(cell, 1) - 1) >> bits);
      const double within = static_cast<double>((cell - 1) & ((1u << bits) - 1));
      const double start =
          cell == 0 ? 0 : std::ldexp(1 + std::ldexp(within, -bits), octave - octaves);
      table.pieces.push_back(taylor(start));
    }
  return table;
}

// 2 q (1 - q), which a table holds exactly, but for shares below 2^-octaves.
Piece gini_from(double q0) {
  if (q0 == 0) return {0, 2, 0, 0};
  return {2 * q0 * q0, 2 - 4 * q0, -2, 0};
}

// min(q, (1 + q) / 5), with a kink at 1/4.
Piece roof_from(double q0) { return q0 < 0.25 ? Piece{0, 1, 0, 0} : Piece{0.2, 0.2, 0, 0}; }

ImpurityFunction gini_of_rows() {
  return [](std::span<const double> p, std::size_t n_classes, std::span<double> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = 0;
      for (std::size_t k = 0; k < n_classes; ++k)
        out[i] += p[i * n_classes + k] * (1 - p[i * n_classes + k]);
    }
  };
}

}  // namespace

TEST_CASE(a_table_finds_the_cell_of_every_share) {
  std::mt19937 rng(2);
  for (const int bits : {0, 1, 4, 9})
    for (const int octaves : {1, 2, 12, 40}) {
      const ImpurityTable table = make_table(bits, octaves, gini_from);
      CHECK(table.pieces.size() == 2 * ImpurityTable::n_cells(bits, octaves));
      const FitContext context{2, 1e9};
      const FromLoss tabulated(context, table);
      const Gini gini(context);
      for (int trial = 0; trial < 2000; ++trial) {
        std::vector<double> counts(2);
        counts[0] = static_cast<double>(rng() % 1000000);
        counts[1] = static_cast<double>(rng() % (trial % 2 ? 1000000 : 100)) + 1;
        if (trial % 3 == 0) std::swap(counts[0], counts[1]);
        if (trial % 50 == 0) counts[0] = counts[1];
        const double n = counts[0] + counts[1];
        const Counts node{counts, n};
        if (std::min(counts[0], counts[1]) / n < std::ldexp(1, -octaves)) continue;
        CHECK(check::near(tabulated.risk(node), gini.risk(node), 1e-13));
        const auto side = FromLoss::summary(static_cast<std::int32_t>(counts[0]),
                                            static_cast<std::int32_t>(counts[1]));
        CHECK(tabulated.risk(side) == tabulated.risk(node));
      }
      for (const double pure : {1.0, 12345.0}) {
        const std::vector<double> first{pure, 0}, second{0, pure}, alone{pure};
        for (const auto& counts : {first, second, alone})
          CHECK(tabulated.risk(Counts{counts, pure}) == 0);
      }
    }
}

// A kink may lie at the start of a cell or inside one; both sides of it are lines in the counts.
TEST_CASE(a_table_keeps_kinks_and_lines) {
  std::mt19937 rng(4);
  for (const int bits : {0, 3}) {
    ImpurityTable inside = make_table(bits, 1, [](double) { return Piece{0, 1, 0, 0}; });
    for (std::size_t lighter : {0, 1}) {
      inside.kinks.push_back({lighter, 0, 0.25, {0.2, 0.2, 0, 0}});
      inside.pieces[(lighter + 1) * ImpurityTable::n_cells(bits, 1) - 1] = {0.2, 0.2, 0, 0};
    }
    const FitContext context{2, 1e9};
    const FromLoss at_kink(context, inside);
    const FromLoss at_start(context, make_table(bits, 4, roof_from));
    for (int trial = 0; trial < 2000; ++trial) {
      const double m = static_cast<double>(rng() % 500),
                   n = 2 * m + static_cast<double>(rng() % 999);
      if (n == 0) continue;
      const std::vector<double> counts{trial % 2 ? m : n - m, trial % 2 ? n - m : m};
      const double expected = std::min(m, 0.2 * n + 0.2 * m);
      CHECK(check::near(at_kink.risk(Counts{counts, n}), expected, 1e-15));
      CHECK(check::near(at_start.risk(Counts{counts, n}), expected, 1e-15));
    }
    // Within one line nothing is gained, across the kink something is.
    const std::vector<double> low{90, 10}, lower{80, 1}, sum{170, 11}, high{60, 40}, all{150, 50};
    CHECK(at_kink.gain({sum, 181}, {low, 100}, {lower, 81}) == 0);
    CHECK(at_kink.gain({all, 200}, {low, 100}, {high, 100}) > 0);
  }
}

TEST_CASE(wrong_tables_are_refused) {
  const ImpurityTable good = make_table(2, 3, gini_from);
  auto refused = [](std::size_t n_classes, const ImpurityTable* table, const char* name) {
    try {
      with_criterion({name, {}, table, nullptr}, {n_classes, 10}, [](const auto&) {});
    } catch (const std::invalid_argument&) {
      return true;
    }
    return false;
  };
  CHECK(!refused(2, &good, "from_loss") && !refused(1, &good, "from_loss"));
  CHECK(refused(3, &good, "from_loss") && refused(2, nullptr, "from_loss"));
  CHECK(refused(2, nullptr, "custom_impurity"));
  ImpurityTable wrong = good;
  wrong.pieces.pop_back();
  CHECK(refused(2, &wrong, "from_loss"));
  wrong = good;
  wrong.kinks.push_back({0, 100, 0.5, {}});
  CHECK(refused(2, &wrong, "from_loss"));
  wrong = good;
  wrong.bits = -1;
  CHECK(refused(2, &wrong, "from_loss"));
}

// A function is asked about all cuts of a feature at once, and the split is the same as if each
// were scored alone.
TEST_CASE(functions_find_the_splits_of_formulas) {
  std::mt19937 rng(6);
  const ImpurityFunction function = gini_of_rows();
  for (int trial = 0; trial < 60; ++trial) {
    const std::size_t n = 20 + rng() % 3000, d = 3, n_classes = 3 + rng() % 3;
    std::vector<double> X, weights;
    std::vector<std::uint16_t> y;
    for (std::size_t i = 0; i < n * d; ++i)
      X.push_back(rng() % 9 == 0 ? std::numeric_limits<double>::quiet_NaN()
                                 : static_cast<double>(rng() % (i % d ? 5000 : 7)));
    for (std::size_t i = 0; i < n; ++i) {
      y.push_back(static_cast<std::uint16_t>(rng() % n_classes));
      if (trial % 3) weights.push_back(trial % 3 == 1 ? 1 + rng() % 4 : 0.1 + rng() % 1000);
    }
    FitOptions options{.grow = {}, .n_trees = 4, .seed = 1, .n_threads = 2};
    options.grow.search.max_features = d;
    options.grow.search.random_cuts = trial % 4 == 0;
    options.grow.max_depth = 1;
    options.grow.min_rows_leaf = 1 + rng() % 9;
    options.grow.min_weight_leaf = static_cast<double>(rng() % 5);
    const Codes codes =
        make_codes<double>({X.data(), n, d, static_cast<std::ptrdiff_t>(d), 1}, 1, {});
    auto grow = [&](CriterionSpec spec) {
      std::atomic<std::size_t> n_done{0};
      return fit_trees({codes, y, weights, n_classes}, spec, options, {}, n_done);
    };
    const CriterionSpec custom{"custom_impurity", {0}, nullptr, &function};
    const auto own = grow(custom), known = grow({"gini"});
    for (std::size_t t = 0; t < 4; ++t) {
      const ExpandedTree a = expand(own.trees[t], own.weight_unit, custom, {});
      const ExpandedTree b = expand(known.trees[t], known.weight_unit, {"gini"}, {});
      CHECK(a.gain.size() == b.gain.size());
      CHECK(check::near(a.gain[0], b.gain[0], 1e-9));
      for (std::size_t i = 0; i < a.impurity.size(); ++i)
        CHECK(check::near(a.impurity[i], b.impurity[i], 1e-9));
    }
  }
}

TEST_CASE(what_a_function_throws_ends_the_fit) {
  std::atomic<int> calls{0};
  const ImpurityFunction function = [&](auto p, auto n_classes, auto out) {
    if (++calls == 20) throw std::runtime_error("from the function");
    gini_of_rows()(p, n_classes, out);
  };
  std::mt19937 rng(8);
  std::vector<double> X(2000);
  std::vector<std::uint16_t> y(1000);
  for (double& x : X) x = static_cast<double>(rng());
  for (auto& label : y) label = static_cast<std::uint16_t>(rng() % 3);
  const Codes codes = make_codes<double>({X.data(), 1000, 2, 2, 1}, 1, {});
  FitOptions options{.grow = {}, .n_trees = 8, .seed = 1, .n_threads = 3};
  options.grow.search.max_features = 2;
  std::atomic<std::size_t> n_done{0};
  bool thrown = false;
  try {
    fit_trees({codes, y, {}, 3}, {"custom_impurity", {0}, nullptr, &function}, options, {}, n_done);
  } catch (const std::runtime_error& error) {
    thrown = std::string_view(error.what()) == "from the function";
  }
  CHECK(thrown);
}
