#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "check.hpp"
#include "criterion_list.hpp"
#include "hardwood/codes.hpp"
#include "hardwood/expand.hpp"
#include "hardwood/fit.hpp"
#include "hardwood/forest.hpp"
#include "hardwood/predict.hpp"
#include "hardwood/prune.hpp"

using namespace hardwood;

namespace {

bool same(const Forest& a, const Forest& b) {
  return a.node_start == b.node_start && a.entry_label == b.entry_label &&
         a.entry_count == b.entry_count && a.set_words == b.set_words &&
         a.set_start == b.set_start &&
         std::memcmp(a.nodes.data(), b.nodes.data(), a.nodes.size() * sizeof(Node)) == 0;
}

struct Data {
  std::size_t n, d, n_classes;
  std::vector<double> X;
  std::vector<std::uint16_t> y;
  std::vector<double> weights;
  std::vector<std::size_t> categories = {};  // columns

  MatrixView<double> view() const { return {X.data(), n, d, static_cast<std::ptrdiff_t>(d), 1}; }
  FittedTrees fit(CriterionSpec spec, const FitOptions& options, const Poll& poll = {}) const {
    const Codes codes = make_codes(view(), 1, {}, categories);
    std::atomic<std::size_t> n_done{0};
    return fit_trees({codes, y, weights, n_classes}, spec, options, poll, n_done);
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
  for (std::size_t j = 0; j < data.d; j += 2)  // every other column has whole numbers
    if (rng() % 2) data.categories.push_back(j);
  return data;
}

std::vector<std::int64_t> leaves(const Tree& tree, const Data& data) {
  const std::vector<std::int64_t> node_start{0, static_cast<std::int64_t>(tree.nodes.size())};
  std::vector<std::int64_t> out(data.n);
  const std::vector<std::int64_t> set_start{0, static_cast<std::int64_t>(tree.set_words.size())};
  apply(tree.nodes, node_start, {tree.set_words, set_start}, MatrixRows<double>(data.view()), 1, {},
        out);
  return out;
}

GrowOptions make_options(std::mt19937& rng, const Data& data) {
  GrowOptions options;
  options.search.max_features = 1 + rng() % data.d;
  options.search.random_cuts = rng() % 3 == 0;
  if (data.n_classes == 2 && rng() % 2)
    for (std::size_t j = 0; j < data.d; ++j)
      options.search.monotonic_cst.push_back(
          std::ranges::count(data.categories, j) ? 0 : static_cast<int>(rng() % 3) - 1);
  if (rng() % 3 == 0) options.search.category_smoothing = rng() % 20;
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
  const std::vector<CriterionSpec> specs = named_criteria();
  for (int trial = 0; trial < 600; ++trial) {
    const Data data = make_data(rng);
    const GrowOptions options = make_options(rng, data);
    const CriterionSpec& spec = specs[rng() % specs.size()];
    if (spec.name == "ranking" && data.n_classes > 2) continue;
    const auto [trees, unit] = data.fit(spec, {.grow = options, .seed = 42});
    const Tree& tree = trees[0];
    const ExpandedTree e = expand(tree, unit, spec, options.search.monotonic_cst);

    std::vector<std::int64_t> leaf = leaves(tree, data);
    std::vector<std::int64_t> rows(tree.nodes.size(), 0);
    std::vector<double> weight(tree.nodes.size(), 0);
    for (std::size_t i = 0; i < data.n; ++i) {
      CHECK(tree.nodes[static_cast<std::size_t>(leaf[i])].is_leaf());
      ++rows[static_cast<std::size_t>(leaf[i])];
      weight[static_cast<std::size_t>(leaf[i])] += data.weights.empty() ? 1 : data.weights[i];
    }
    CHECK((tree.nodes.size() + 1) / 2 <= options.max_leaves);
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
    const Tree half = collapse(
        tree, std::span<const std::uint32_t>(path.node).subspan(0, path.node.size() / 2), false);
    std::size_t n_rows = 0;
    for (const Node& node : half.nodes)
      if (node.is_leaf()) n_rows += node.n_rows();
    CHECK(n_rows == data.n);
    leaf = leaves(half, data);
    CHECK(half.nodes[static_cast<std::size_t>(leaf[0])].is_leaf());
  }
}

// Trees are the same on any number of threads, and their out-of-bag votes come from trees that did
// not draw the row.
TEST_CASE(forests_are_the_same_on_any_number_of_threads) {
  std::mt19937 rng(17);
  for (int trial = 0; trial < 40; ++trial) {
    const Data data = make_data(rng);
    const GrowOptions grow = make_options(rng, data);
    FitOptions options{.grow = grow, .n_trees = 7, .n_draws = data.n, .seed = rng()};
    options.balance_draws = trial % 4 == 0;
    const Forest one(data.fit({"gini"}, options).trees);
    options.n_threads = 3;
    const Forest three(data.fit({"gini"}, options).trees);
    CHECK(same(one, three));

    const ForestView<double> view{data.n_classes,
                                  one.nodes,
                                  one.entry_label,
                                  one.entry_count,
                                  one.node_start,
                                  one.entry_start,
                                  {one.set_words, one.set_start}};
    std::vector<double> proba(data.n * data.n_classes, 0), votes(proba.size(), 0);
    predict_proba(view, MatrixRows<double>(data.view()), 2, {}, proba);
    std::vector<std::int64_t> n_votes(data.n, 0);
    const Bootstrap bootstrap(data.n, data.n, data.weights);
    out_of_bag_votes(view, MatrixRows<double>(data.view()), bootstrap, options.seed, 2, {}, votes,
                     n_votes);
    for (std::size_t i = 0; i < data.n; ++i) {
      double sum = 0, voted = 0;
      for (std::size_t k = 0; k < data.n_classes; ++k) {
        sum += proba[i * data.n_classes + k];
        voted += votes[i * data.n_classes + k];
      }
      CHECK(check::near(sum, 1, 1e-12) && std::abs(voted - n_votes[i]) < 1e-9);
    }
  }
}

// Large enough for threads inside the tree. Columns that are mostly one value list the other rows,
// which must not change anything either.
TEST_CASE(large_trees_are_the_same_on_any_number_of_threads_and_without_lists) {
  std::mt19937 rng(3);
  for (int trial = 0; trial < 12; ++trial) {
    Data data{20000, 12, trial % 2 ? std::size_t{2} : std::size_t{4}, {}, {}, {}};
    if (trial % 3 == 1) data.categories = {1, 4, 5, 7};
    for (std::size_t i = 0; i < data.n * data.d; ++i) {
      const std::size_t column = i % data.d;
      const bool rare = column % 2 && rng() % (10 * column) > 0;
      const bool missing = column % 4 == 3 && rng() % 20 == 0;
      data.X.push_back(missing ? std::numeric_limits<double>::quiet_NaN()
                               : static_cast<double>(rare ? 1 : rng() % (column < 4 ? 2 : 40)));
    }
    for (std::size_t i = 0; i < data.n; ++i) {
      const bool clean = rng() % 4 > 0;
      const double signal = data.X[i * data.d + 4] + 20 * data.X[i * data.d + 1];
      data.y.push_back(static_cast<std::uint16_t>(
          clean ? static_cast<std::size_t>(signal / 11) % data.n_classes : rng() % data.n_classes));
    }
    FitOptions options{.grow = {}, .n_trees = 1, .n_draws = trial % 3 ? data.n : 0, .seed = rng()};
    options.grow.search.max_features = trial % 4 ? data.d : 3;
    options.grow.search.random_cuts = trial % 5 == 4;
    options.grow.min_rows_leaf = trial % 6 == 5 ? 3 : 1;
    const CriterionSpec spec = trial < 6 ? CriterionSpec{"gini"} : CriterionSpec{"ne", {0.5}};
    const Forest one(data.fit(spec, options).trees);
    for (const int n_threads : {2, 5}) {
      options.n_threads = n_threads;
      CHECK(same(one, Forest(data.fit(spec, options).trees)));
    }
    Codes codes = make_codes(data.view(), 1, {}, data.categories);
    CHECK(codes.lists_rows);
    codes.lists_rows = false;
    std::atomic<std::size_t> n_done{0};
    CHECK(same(one, Forest(fit_trees({codes, data.y, data.weights, data.n_classes}, spec, options,
                                     {}, n_done)
                               .trees)));
  }
}

TEST_CASE(work_can_be_stopped) {
  std::mt19937 rng(5);
  Data data{20000, 20, 2, {}, {}, {}};
  for (std::size_t i = 0; i < data.n * data.d; ++i) data.X.push_back(static_cast<double>(rng()));
  for (std::size_t i = 0; i < data.n; ++i) data.y.push_back(rng() % 2);
  for (const int n_threads : {1, 3}) {
    FitOptions options;
    options.n_trees = 6;
    options.n_threads = n_threads;
    options.grow.search.max_features = data.d;
    int calls = 0;
    bool stopped = false;
    try {
      data.fit({"gini"}, options, [&] {
        if (++calls == 2) throw std::runtime_error("stop");
      });
    } catch (const std::runtime_error&) {
      stopped = true;
    }
    CHECK(stopped && calls == 2);
  }
}

// A row goes where its category does; what is no category of the set goes where missing values do.
template <class T>
void walk_down_a_set() {
  Tree tree;
  tree.n_classes = 2;
  const std::vector<std::uint32_t> categories{40, 31, 64};
  const CategorySet set = CategorySet::of(categories);
  CHECK(set.first_word == 0 && set.words.size() == 3);
  CHECK(set.words[0] == 1u << 31 && set.words[1] == 1u << 8 && set.words[2] == 1);
  for (const bool missing_left : {false, true}) {
    tree.nodes.clear();
    tree.set_words.clear();
    const auto root = tree.add_set(
        Node::make_set(0, {0, set.first_word, 3}, missing_left ? Node::missing_left_bit : 0),
        set.words, kNobody);
    tree.add_leaf(std::vector<double>{1, 0}, 1, kNobody, false);
    tree.add_leaf(std::vector<double>{0, 1}, 1, root, false);
    const T nan = std::numeric_limits<T>::quiet_NaN(), huge = std::numeric_limits<T>::max();
    const std::vector<T> values{31, 40, 64, 0, 32, 65, 65534, 65535, 95, 96, -1, -64, nan, huge};
    const MatrixView<T> X{values.data(), values.size(), 1, 1, 1};
    std::vector<std::int64_t> leaf(values.size());
    const std::vector<std::int64_t> node_start{0, 3}, set_start{0, 3};
    apply(tree.nodes, node_start, {tree.set_words, set_start}, MatrixRows<T>(X), 1, {}, leaf);
    for (std::size_t i = 0; i < values.size(); ++i)
      CHECK((leaf[i] == 1) == ((i < 3) != missing_left));
  }
}

TEST_CASE(rows_follow_their_categories) {
  walk_down_a_set<float>();
  walk_down_a_set<double>();
}

TEST_CASE(constraints_on_categories_are_refused) {
  Data data{4, 1, 2, {0, 1, 2, 3}, {0, 1, 0, 1}, {}, {0}};
  FitOptions options;
  options.grow.search.monotonic_cst = {1};
  bool refused = false;
  try {
    data.fit({"gini"}, options);
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  CHECK(refused);
}
