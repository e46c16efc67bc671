// A small table and a forest of it, for tests of how the engine runs rather than of what it finds.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "hardwood/codes.hpp"
#include "hardwood/expand.hpp"
#include "hardwood/fit.hpp"
#include "hardwood/forest.hpp"
#include "hardwood/predict.hpp"
#include "hardwood/smoothed_trees.hpp"
#include "hardwood/validate.hpp"

namespace small_fit {

using namespace hardwood;

inline constexpr std::size_t kColumns = 4, kClasses = 3;

struct Table {
  std::size_t n_rows;
  std::vector<double> X;
  std::vector<std::uint16_t> y;

  explicit Table(std::size_t n_rows) : n_rows(n_rows) {
    std::mt19937 rng(5);
    for (std::size_t i = 0; i < n_rows * kColumns; ++i)
      X.push_back(static_cast<double>(rng() % 50));
    for (std::size_t i = 0; i < n_rows; ++i)
      y.push_back(static_cast<std::uint16_t>(X[i * kColumns] < 25 ? 0 : rng() % kClasses));
  }

  MatrixView<double> view() const { return {X.data(), n_rows, kColumns, kColumns, 1}; }
};

// Codes the table, grows a forest, smooths it, and returns the probabilities of the rows: all that
// runs on several threads.
inline std::vector<double> fit_and_predict(const Table& table, const CriterionSpec& criterion,
                                           int n_threads) {
  const std::vector<std::size_t> with_categories{1};
  const Codes codes = make_codes(table.view(), n_threads, {}, with_categories);
  FitOptions options{
      .grow = {}, .n_trees = 5, .n_draws = table.n_rows, .seed = 3, .n_threads = n_threads};
  options.grow.search.max_features = 2;
  std::atomic<std::size_t> n_done{0};
  FittedTrees fitted = fit_trees({codes, table.y, {}, kClasses}, criterion, options, {}, n_done);
  const Forest grown(std::move(fitted.trees), n_threads);
  const auto view_of = [](const Forest& forest) {
    return ForestView<double>{kClasses,
                              forest.nodes,
                              forest.entry_label,
                              forest.entry_count,
                              forest.node_start,
                              forest.entry_start,
                              {forest.set_words, forest.set_start}};
  };
  const std::vector<double> shrinkages(view_of(grown).n_trees(), 2.0);
  const Forest smoothed = shrunk(view_of(grown), shrinkages, n_threads, {});
  const auto forest = view_of(smoothed);
  validate(forest, kColumns, {{1, 50}}, n_threads, {});
  expand(tree_of(forest, 0), fitted.weight_unit, criterion, {});
  std::vector<double> proba(table.n_rows * kClasses, 0);
  predict_proba(forest, MatrixRows<double>(table.view()), n_threads, {}, proba);
  return proba;
}

}  // namespace small_fit
