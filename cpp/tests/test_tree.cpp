#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "check.hpp"
#include "hardwood/codes.hpp"
#include "hardwood/expand.hpp"
#include "hardwood/fit.hpp"
#include "hardwood/predict.hpp"
#include "hardwood/prune.hpp"

using namespace hardwood;

namespace {

struct Data {
  std::size_t n, d, n_classes;
  std::vector<double> X;
  std::vector<std::uint16_t> y;
  std::vector<double> weights;

  MatrixView<double> view() const { return {X.data(), n, d, static_cast<std::ptrdiff_t>(d), 1}; }
  FittedTree fit(CriterionSpec spec, const GrowOptions& options) const {
    return fit_tree(make_codes(view(), 1, {}), y, weights, n_classes, spec, options, 42, {});
  }
};

Data make_data(std::mt19937& rng) {
  Data data;
  data.n = 1 + rng() % (rng() % 4 == 0 ? 5000 : 100);
  data.d = 1 + rng() % 5;
  data.n_classes = 1 + rng() % 5;
  const auto distinct = static_cast<std::uint32_t>(1 + rng() % 1000);
  for (std::size_t i = 0; i < data.n * data.d; ++i) {
    const bool missing = i % data.d == 0 && rng() % 5 == 0;
    const double value = static_cast<double>(rng() % distinct) / (i % data.d % 2 ? 3 : 1);
    data.X.push_back(missing ? std::numeric_limits<double>::quiet_NaN() : value);
  }
  for (std::size_t i = 0; i < data.n; ++i)
    data.y.push_back(static_cast<std::uint16_t>(rng() % data.n_classes));
  const auto kind = rng() % 3;
  for (std::size_t i = 0; kind && i < data.n; ++i)
    data.weights.push_back(kind == 1 ? 1 + rng() % 4 : 1e-3 + static_cast<double>(rng() % 1000));
  return data;
}

GrowOptions make_options(std::mt19937& rng, const Data& data) {
  GrowOptions options;
  options.search.max_features = 1 + rng() % data.d;
  options.search.random_cuts = rng() % 3 == 0;
  if (data.n_classes == 2 && rng() % 2)
    for (std::size_t j = 0; j < data.d; ++j)
      options.search.monotonic_cst.push_back(static_cast<int>(rng() % 3) - 1);
  if (rng() % 3 == 0) options.max_depth = 1 + rng() % 6;
  if (rng() % 3 == 0) options.min_rows_leaf = 1 + rng() % 10;
  if (rng() % 3 == 0) options.min_weight_leaf = 1 + rng() % 10;
  if (rng() % 3 == 0) options.max_leaves = 2 + rng() % 20;
  return options;
}

}  // namespace

// What holds for every tree: rows end where they were counted, and the limits are kept.
TEST_CASE(trees_count_the_rows_that_reach_them) {
  std::mt19937 rng(11);
  const char* names[] = {"gini",      "entropy", "misclassification",
                         "sqrt_gini", "ne",      "gce",
                         "twoing",    "credal",  "ranking"};
  for (int trial = 0; trial < 600; ++trial) {
    const Data data = make_data(rng);
    const GrowOptions options = make_options(rng, data);
    const char* name = names[rng() % 9];
    if (std::string_view(name) == "ranking" && data.n_classes > 2) continue;
    const CriterionSpec spec{name, 0.5};
    const auto [tree, unit] = data.fit(spec, options);
    const ExpandedTree e = expand(tree, unit, spec, options.search.monotonic_cst);

    std::vector<std::int64_t> leaf(data.n);
    apply<double>(tree.nodes, data.view(), leaf);
    std::vector<std::int64_t> rows(tree.nodes.size(), 0);
    std::vector<double> weight(tree.nodes.size(), 0);
    for (std::size_t i = 0; i < data.n; ++i) {
      CHECK(tree.nodes[static_cast<std::size_t>(leaf[i])].is_leaf());
      ++rows[static_cast<std::size_t>(leaf[i])];
      weight[static_cast<std::size_t>(leaf[i])] += data.weights.empty() ? 1 : data.weights[i];
    }
    CHECK(tree.n_leaves() <= options.max_leaves);
    CHECK(static_cast<std::size_t>(e.max_depth) <= options.max_depth);
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      if (!tree.nodes[i].is_leaf()) {
        CHECK(e.gain[i] > 0);
        continue;
      }
      CHECK(rows[i] == e.n_rows[i]);
      CHECK(check::near(weight[i], e.weight[i], 1e-9));
      if (tree.nodes.size() > 1) {
        CHECK(static_cast<std::size_t>(rows[i]) >= options.min_rows_leaf);
        CHECK(weight[i] >= options.min_weight_leaf * (1 - 1e-9));
      }
    }

    const PruningPath path = pruning_path(tree, e.gain, std::numeric_limits<double>::infinity());
    CHECK(tree.nodes.size() == 1 || path.node.back() == 0);
    const Tree half =
        collapse(tree, std::span<const std::uint32_t>(path.node).subspan(0, path.node.size() / 2));
    CHECK(std::accumulate(half.leaf_rows.begin(), half.leaf_rows.end(), std::size_t{0}) == data.n);
    apply<double>(half.nodes, data.view(), leaf);
  }
}

TEST_CASE(work_can_be_stopped) {
  std::mt19937 rng(5);
  Data data{20000, 20, 2, {}, {}, {}};
  for (std::size_t i = 0; i < data.n * data.d; ++i) data.X.push_back(static_cast<double>(rng()));
  for (std::size_t i = 0; i < data.n; ++i) data.y.push_back(rng() % 2);
  GrowOptions options;
  options.search.max_features = data.d;
  int calls = 0;
  bool stopped = false;
  try {
    fit_tree(make_codes(data.view(), 1, {}), data.y, {}, 2, {"gini", 0}, options, 0, [&] {
      if (++calls == 2) throw std::runtime_error("stop");
    });
  } catch (const std::runtime_error&) {
    stopped = true;
  }
  CHECK(stopped && calls == 2);
}
