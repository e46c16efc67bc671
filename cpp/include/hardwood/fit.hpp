// From labels and weights to a tree: chooses whole or real arithmetic, and the criterion, once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <vector>

#include "hardwood/criteria.hpp"
#include "hardwood/grower.hpp"

namespace hardwood {

// If all weights are whole multiples of the smallest one, and not too large, that one; else 0.
// Whole numbers keep equal gains equal, and are fast.
inline double whole_unit(std::span<const double> weights) {
  const double unit = *std::min_element(weights.begin(), weights.end());
  constexpr double most = std::numeric_limits<std::uint16_t>::max();
  double total = 0;
  for (const double weight : weights) {
    const double multiple = std::round(weight / unit);
    if (!(multiple <= most) || multiple * unit != weight) return 0;
    total += multiple;
  }
  return total <= std::numeric_limits<std::int32_t>::max() ? unit : 0;
}

struct FittedTree {
  Tree tree;
  double weight_unit;  // what a count of 1 is in the caller's weights
};

template <class Sample>
FittedTree fit_samples(const Codes& codes, std::vector<Sample> samples, std::size_t n_classes,
                       double weight_unit, CriterionSpec spec, GrowOptions options,
                       std::uint64_t seed, const Poll& poll) {
  FitContext context{.n_classes = n_classes, .total_weight = 0, .weight_unit = weight_unit};
  for (const Sample& s : samples) context.total_weight += static_cast<double>(s.weight);
  options.min_weight_leaf /= weight_unit;
  return with_criterion(spec, context, [&]<class C>(const C& criterion) -> FittedTree {
    Grower<C, Sample> grower(codes, criterion, options, std::move(samples), n_classes, Rng(seed, 0),
                             poll);
    return {grower.grow(), weight_unit};
  });
}

// `weights` may be empty: all 1. They are positive; rows of weight zero were left out before
// coding.
inline FittedTree fit_tree(const Codes& codes, std::span<const std::uint16_t> labels,
                           std::span<const double> weights, std::size_t n_classes,
                           CriterionSpec spec, const GrowOptions& options, std::uint64_t seed,
                           const Poll& poll) {
  const std::size_t n = codes.n_rows;
  if (labels.size() != n || (!weights.empty() && weights.size() != n))
    throw std::invalid_argument("labels and weights must have as many entries as X has rows");
  if (n == 0 || n > std::numeric_limits<std::int32_t>::max())
    throw std::invalid_argument("the number of rows must be in [1, 2147483647]");
  if (std::any_of(labels.begin(), labels.end(), [&](auto label) { return label >= n_classes; }))
    throw std::invalid_argument("labels must be below n_classes");
  if (!std::all_of(weights.begin(), weights.end(),
                   [](double w) { return w > 0 && std::isfinite(w); }))
    throw std::invalid_argument("weights must be positive and finite");
  if (!options.search.monotonic_cst.empty() &&
      (n_classes > 2 || options.search.monotonic_cst.size() != codes.n_columns()))
    throw std::invalid_argument("monotonic constraints need two classes and one entry a feature");

  const double unit = weights.empty() ? 1 : whole_unit(weights);
  if (unit > 0) {
    std::vector<WholeSample> samples(n);
    for (std::uint32_t i = 0; i < n; ++i)
      samples[i] = {
          i, labels[i],
          static_cast<std::uint16_t>(weights.empty() ? 1 : std::round(weights[i] / unit))};
    return fit_samples(codes, std::move(samples), n_classes, unit, spec, options, seed, poll);
  }
  // Scaled by a power of two, which is exact, so that no square over- or underflows.
  const double scale =
      std::ldexp(1.0, std::ilogb(*std::max_element(weights.begin(), weights.end())));
  constexpr double least = 1e-290;
  std::vector<RealSample> samples(n);
  for (std::uint32_t i = 0; i < n; ++i)
    samples[i] = {i, labels[i], std::max(weights[i] / scale, least)};
  return fit_samples(codes, std::move(samples), n_classes, scale, spec, options, seed, poll);
}

}  // namespace hardwood
