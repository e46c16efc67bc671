#include <atomic>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "check.hpp"
#include "hardwood/codes.hpp"
#include "hardwood/expand.hpp"
#include "hardwood/fit.hpp"
#include "hardwood/forest.hpp"
#include "hardwood/predict.hpp"
#include "hardwood/smoothed_trees.hpp"
#include "hardwood/smoothed_votes.hpp"
#include "hardwood/validate.hpp"

using namespace hardwood;

namespace {

constexpr std::size_t kRows = 300, kFeatures = 4, kClasses = 3, kTrees = 6;
constexpr std::uint64_t kSeed = 9;

struct Grown {
  std::vector<double> X;
  std::vector<Tree> trees;

  Grown() {
    std::mt19937 rng(2);
    std::vector<std::uint16_t> y;
    for (std::size_t i = 0; i < kRows * kFeatures; ++i)
      X.push_back(static_cast<double>(rng() % 20));
    for (std::size_t i = 0; i < kRows; ++i)
      y.push_back(static_cast<std::uint16_t>(X[i * kFeatures] < 10 ? 0 : rng() % kClasses));
    const std::vector<std::size_t> with_categories{0, 2};
    const Codes codes = make_codes(view(), 1, {}, with_categories);
    FitOptions options{.grow = {}, .n_trees = kTrees, .n_draws = kRows, .seed = kSeed};
    options.grow.search.max_features = 2;
    std::atomic<std::size_t> n_done{0};
    trees = fit_trees({codes, y, {}, kClasses}, {"gini"}, options, {}, n_done).trees;
  }

  MatrixView<double> view() const { return {X.data(), kRows, kFeatures, kFeatures, 1}; }
  MatrixRows<double> matrix_rows() const { return MatrixRows<double>(view()); }
};

ForestView<double> view(const Forest& forest) {
  return {kClasses,
          forest.nodes,
          forest.entry_label,
          forest.entry_count,
          forest.node_start,
          forest.entry_start,
          {forest.set_words, forest.set_start}};
}

// The nodes from the root of a tree to a row's leaf.
std::vector<std::size_t> path_of(const Tree& tree, const double* row) {
  std::vector<std::size_t> path{0};
  while (!tree.nodes[path.back()].is_leaf()) {
    const Node& node = tree.nodes[path.back()];
    bool goes_left = row[node.column()] <= node.threshold;
    if (node.is_set()) {
      const auto category = static_cast<std::size_t>(row[node.column()]);
      const auto words = tree.words_of(node);
      const std::size_t word = category / kSetBits - node.set_place().first_word;
      const bool is_member = word < words.size() && (words[word] >> category % kSetBits & 1);
      goes_left = is_member != node.missing_left();
    }
    path.push_back(goes_left ? path.back() + 1 : node.right());
  }
  return path;
}

double stop_at(const ExpandedTree& e, const std::vector<std::size_t>& path, std::size_t k,
               std::uint32_t m) {
  for (const std::size_t node : path)
    if (e.n_rows[node] < static_cast<std::int64_t>(m)) return e.value[node * kClasses + k];
  return e.value[path.back() * kClasses + k];
}

double shrink(const ExpandedTree& e, const std::vector<std::size_t>& path, std::size_t k,
              double h) {
  double p = e.value[k];
  for (std::size_t d = 1; d < path.size(); ++d)
    p += (e.value[path[d] * kClasses + k] - e.value[path[d - 1] * kClasses + k]) /
         (1 + h / e.weight[path[d - 1]]);
  return p;
}

}  // namespace

TEST_CASE(smoothed_votes_follow_the_formulas_out_of_bag) {
  const Grown grown;
  const Forest forest(std::vector<Tree>(grown.trees));
  const std::vector<std::uint32_t> stops{1, 3, 20, 100, 1000}, rows{0, 7, 8, 299, 150};
  const std::vector<double> shrinkages{1, 30, 1000};
  const Smoothings smoothings{stops, shrinkages};
  const Bootstrap bootstrap(kRows, kRows, {});
  for (const int n_threads : {1, 3}) {
    std::vector<float> votes(rows.size() * smoothings.size() * kClasses, -1);  // to be overwritten
    std::vector<std::int64_t> n_votes(rows.size(), -1);
    out_of_bag_smoothed(view(forest), grown.matrix_rows(), rows, bootstrap, kSeed, 0, smoothings,
                        n_threads, {}, votes, n_votes);
    std::vector<double> expected(votes.size(), 0);
    std::vector<std::int64_t> expected_n(rows.size(), 0);
    for (std::size_t t = 0; t < kTrees; ++t) {
      const auto times = bootstrap.draw(kSeed, t);
      const ExpandedTree e = expand(grown.trees[t], 1, {"gini"}, {});
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (times[rows[i]] > 0) continue;
        ++expected_n[i];
        const auto path = path_of(grown.trees[t], grown.X.data() + rows[i] * kFeatures);
        double* out = expected.data() + i * smoothings.size() * kClasses;
        for (const std::uint32_t m : stops)
          for (std::size_t k = 0; k < kClasses; ++k) *out++ += stop_at(e, path, k, m);
        for (const double h : shrinkages)
          for (std::size_t k = 0; k < kClasses; ++k) *out++ += shrink(e, path, k, h);
      }
    }
    CHECK(n_votes == expected_n);
    for (std::size_t j = 0; j < votes.size(); ++j) CHECK(std::abs(votes[j] - expected[j]) < 1e-5);
  }
}

TEST_CASE(smoothed_trees_predict_what_they_voted) {
  const Grown grown;
  const Forest forest(std::vector<Tree>(grown.trees));
  std::vector<double> shrinkages_of_trees(kTrees, 30.0);
  shrinkages_of_trees[1] = 0;  // stays as it is
  const Forest all_smooth = shrunk(view(forest), shrinkages_of_trees, 2, {});
  for (std::size_t t = 0; t < kTrees; ++t) {
    const Tree& tree = grown.trees[t];
    const double h = shrinkages_of_trees[t];
    const ExpandedTree e = expand(tree, 1, {"gini"}, {});
    const Tree small = stopped(tree, 20);
    const Tree smooth = tree_of(view(all_smooth), t);
    CHECK(small.nodes.size() < tree.nodes.size() && smooth.nodes.size() == tree.nodes.size());
    const ExpandedTree small_e = expand(small, 1, {"gini"}, {});
    const ExpandedTree smooth_e = expand(smooth, 1, {"gini"}, {});
    for (std::size_t i = 0; i < kRows; ++i) {
      const double* row = grown.X.data() + i * kFeatures;
      const auto path = path_of(tree, row);
      for (std::size_t k = 0; k < kClasses; ++k) {
        const double stop = small_e.value[path_of(small, row).back() * kClasses + k];
        CHECK(check::near(stop, stop_at(e, path, k, 20), 1e-12));
        const double shrunk_p = smooth_e.value[path.back() * kClasses + k];
        CHECK(std::abs(shrunk_p - shrink(e, path, k, h)) < 1e-12);
      }
    }
  }
}

TEST_CASE(shrunk_by_hardly_anything_a_forest_hardly_changes) {  // its own classes: many gaps
  const Grown grown;
  const Forest forest(std::vector<Tree>(grown.trees));
  const Forest same = shrunk(view(forest), std::vector<double>(kTrees, 1e-300), 2, {});
  CHECK(same.entry_label.size() < forest.nodes.size() / 2 * kClasses);
  validate(view(same), kFeatures, {{0, 20}, {2, 20}}, 1, {});
  CHECK(!same.set_words.empty());
  std::vector<double> before(kRows * kClasses, 0), after(kRows * kClasses, 0);
  predict_proba(view(forest), grown.matrix_rows(), 1, {}, before);
  predict_proba(view(same), grown.matrix_rows(), 1, {}, after);
  for (std::size_t i = 0; i < before.size(); ++i) CHECK(std::abs(before[i] - after[i]) < 1e-12);
}

TEST_CASE(the_first_of_the_classes_with_most_votes_leads) {
  const std::vector<float> votes{1, 2, 2, 0, 0, 0, 5, 4, 3, 1, 1, 2};  // [2][2][3]
  std::vector<std::uint16_t> leading(4);
  leading_classes(votes, {}, 2, 3, 2, {}, leading);
  CHECK((leading == std::vector<std::uint16_t>{1, 0, 0, 2}));
  std::vector<float> more(12, 0);
  more[0] = 1;
  leading_classes(votes, more, 2, 3, 1, {}, leading);
  CHECK((leading == std::vector<std::uint16_t>{0, 0, 0, 2}));
}
