// From labels and weights to trees: chooses whole or real arithmetic, and the criterion, once.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <vector>

#include "hardwood/bootstrap.hpp"
#include "hardwood/criteria.hpp"
#include "hardwood/grower.hpp"
#include "hardwood/parallel.hpp"

namespace hardwood {

struct FitOptions {
  GrowOptions grow;
  std::size_t first_tree = 0;  // of a forest that is grown in parts
  std::size_t n_trees = 1;
  std::size_t n_draws = 0;     // of rows, with replacement, for each tree; 0: all rows, once
  bool balance_draws = false;  // weigh a tree's draws so that its classes weigh the same
  std::uint64_t seed = 0;
  int n_threads = 1;
};

// Rows of weight zero were left out before coding; no weights: all 1. Where rows are drawn, weights
// are the probabilities of the draws, otherwise they weigh the rows.
struct TrainingData {
  const Codes& codes;
  std::span<const std::uint16_t> labels;
  std::span<const double> weights;
  std::size_t n_classes;
};

struct FittedTrees {
  std::vector<Tree> trees;
  double weight_unit = 1;  // what a count of 1 is in the caller's weights
};

namespace fitting {

inline void check(const TrainingData& data, const FitOptions& options) {
  constexpr std::size_t most = std::numeric_limits<std::int32_t>::max();
  const std::size_t n = data.codes.n_rows;
  if (data.labels.size() != n || (!data.weights.empty() && data.weights.size() != n))
    throw std::invalid_argument("labels and weights must have as many entries as X has rows");
  if (n == 0 || n > most || options.n_draws > most)
    throw std::invalid_argument("the number of rows must be in [1, 2147483647]");
  if (std::any_of(data.labels.begin(), data.labels.end(),
                  [&](auto label) { return label >= data.n_classes; }))
    throw std::invalid_argument("labels must be below n_classes");
  if (!std::all_of(data.weights.begin(), data.weights.end(),
                   [](double w) { return w > 0 && std::isfinite(w); }))
    throw std::invalid_argument("weights must be positive and finite");
  const auto& constraints = options.grow.search.monotonic_cst;
  if (!constraints.empty() && (data.n_classes > 2 || constraints.size() != data.codes.n_columns()))
    throw std::invalid_argument("monotonic constraints need two classes and one entry a feature");
}

inline constexpr double kMostWhole = std::numeric_limits<std::uint16_t>::max();

// If all weights are whole multiples of the smallest one, and not too large, that one; else 0.
// Whole numbers keep equal gains equal, and are fast.
inline double whole_unit(std::span<const double> weights) {
  if (weights.empty()) return 1;
  const double unit = *std::min_element(weights.begin(), weights.end());
  double total = 0;
  for (const double weight : weights) {
    const double multiple = std::round(weight / unit);
    if (!(multiple <= kMostWhole) || multiple * unit != weight) return 0;
    total += multiple;
  }
  return total <= std::numeric_limits<std::int32_t>::max() ? unit : 0;
}

// A power of two near the largest weight: scaling by it is exact, and no square overflows.
inline double real_unit(std::span<const double> weights) {
  return std::ldexp(1.0, std::ilogb(*std::max_element(weights.begin(), weights.end())));
}

// The samples of rows with a positive weight_of(row).
template <class Sample, class WeightOf>
std::vector<Sample> make_samples(std::span<const std::uint16_t> labels, const WeightOf& weight_of) {
  std::vector<Sample> samples;
  samples.reserve(labels.size());
  for (std::uint32_t i = 0; i < labels.size(); ++i)
    if (const auto weight = weight_of(i); weight > 0)
      samples.push_back({i, labels[i], static_cast<decltype(Sample::weight)>(weight)});
  return samples;
}

// Makes the classes of a tree's draws weigh the same, as scikit-learn's "balanced_subsample".
inline std::vector<double> balanced(std::span<const std::uint32_t> times, const TrainingData& data,
                                    std::size_t n_draws) {
  std::vector<double> drawn(data.n_classes, 0), weights(times.size());
  for (std::size_t i = 0; i < times.size(); ++i) drawn[data.labels[i]] += times[i];
  const auto n_present = static_cast<double>(
      data.n_classes - static_cast<std::size_t>(std::count(drawn.begin(), drawn.end(), 0.0)));
  for (std::size_t i = 0; i < times.size(); ++i)
    if (times[i])
      weights[i] = times[i] * (static_cast<double>(n_draws) / (n_present * drawn[data.labels[i]]));
  return weights;
}

// Grows the trees, each from the samples that samples_of(tree) gives it.
template <class Sample, class SamplesOf>
FittedTrees grow_trees(const TrainingData& data, CriterionSpec spec, FitOptions options,
                       const FitContext& context, const SamplesOf& samples_of, const Poll& poll,
                       std::atomic<std::size_t>& n_done) {
  options.grow.min_weight_leaf /= context.weight_unit;
  FittedTrees out{std::vector<Tree>(options.n_trees), context.weight_unit};
  with_criterion(spec, context, [&]<class C>(const C& criterion) {
    const int n_threads = std::clamp(options.n_threads, 1, 4096);
    // Threads that are left over when every tree has one work inside the trees.
    options.grow.n_threads = static_cast<int>(std::max<std::size_t>(
        1, static_cast<std::size_t>(n_threads) / std::max<std::size_t>(1, options.n_trees)));
    std::atomic<std::size_t> next{0};
    // One grower a thread, with its buffers, for all the trees the thread comes to grow.
    parallel_for(
        static_cast<std::size_t>(n_threads), n_threads, poll,
        [&](std::size_t, const Poll& own_poll) {
          std::size_t i = next.fetch_add(1);
          if (i >= options.n_trees) return;
          Grower<C, Sample> grower(data.codes, criterion, options.grow, data.n_classes, own_poll);
          for (; i < options.n_trees; i = next.fetch_add(1)) {
            const std::size_t tree = options.first_tree + i;
            out.trees[i] = grower.grow(samples_of(tree), growth_stream(options.seed, tree));
            ++n_done;
            own_poll();
          }
        });
  });
  return out;
}

}  // namespace fitting

// n_done tells, while the trees grow, how many are grown.
inline FittedTrees fit_trees(const TrainingData& data, CriterionSpec spec,
                             const FitOptions& options, const Poll& poll,
                             std::atomic<std::size_t>& n_done) {
  fitting::check(data, options);
  const auto& [codes, labels, weights, n_classes] = data;
  auto grow = [&]<class Sample>(double total_weight, double weight_unit, const auto& samples_of) {
    return fitting::grow_trees<Sample>(data, spec, options, {n_classes, total_weight, weight_unit},
                                       samples_of, poll, n_done);
  };

  if (options.n_draws > 0) {
    const Bootstrap bootstrap(codes.n_rows, options.n_draws, weights);
    const auto total = static_cast<double>(options.n_draws);
    if (options.balance_draws)
      return grow.template operator()<RealSample>(total, 1, [&](std::size_t tree) {
        const auto weight =
            fitting::balanced(bootstrap.draw(options.seed, tree), data, options.n_draws);
        return fitting::make_samples<RealSample>(labels,
                                                 [&](std::uint32_t i) { return weight[i]; });
      });
    // Far enough below what a whole weight holds for chance never to get there.
    const bool whole = total <= fitting::kMostWhole || bootstrap.most_expected() <= 20000;
    auto samples_of = [&]<class Sample>(std::size_t tree) {
      const auto times = bootstrap.draw(options.seed, tree);
      return fitting::make_samples<Sample>(labels, [&](std::uint32_t i) { return times[i]; });
    };
    if (whole)
      return grow.template operator()<WholeSample>(total, 1, [&](std::size_t tree) {
        return samples_of.template operator()<WholeSample>(tree);
      });
    return grow.template operator()<RealSample>(total, 1, [&](std::size_t tree) {
      return samples_of.template operator()<RealSample>(tree);
    });
  }

  const double unit = fitting::whole_unit(weights);
  double total = static_cast<double>(codes.n_rows);
  if (unit > 0) {
    auto weight_of = [&](std::uint32_t i) {
      return weights.empty() ? 1.0 : std::round(weights[i] / unit);
    };
    const auto samples = fitting::make_samples<WholeSample>(labels, weight_of);
    total = 0;
    for (const auto& s : samples) total += s.weight;
    return grow.template operator()<WholeSample>(total, unit, [&](std::size_t) { return samples; });
  }
  const double scale = fitting::real_unit(weights);
  constexpr double least = 1e-290;  // of the largest: the squares of lighter rows are nothing
  const auto samples = fitting::make_samples<RealSample>(
      labels, [&](std::uint32_t i) { return std::max(weights[i] / scale, least); });
  total = 0;
  for (const auto& s : samples) total += s.weight;
  return grow.template operator()<RealSample>(total, scale, [&](std::size_t) { return samples; });
}

}  // namespace hardwood
