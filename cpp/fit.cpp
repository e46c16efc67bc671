// Chooses whole or real arithmetic, and the criterion, once; then grows the trees.
#include "hardwood/fit.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "hardwood/bootstrap.hpp"
#include "hardwood/grower.hpp"

namespace hardwood {

namespace {

void check(const TrainingData& data, const FitOptions& options) {
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
  for (std::size_t f = 0; f < constraints.size(); ++f)
    if (constraints[f] != 0 && data.codes.columns[f].is_category)
      throw std::invalid_argument("categories have no order that a constraint could follow");
  if (!(options.grow.search.category_smoothing >= 0) ||
      !std::isfinite(options.grow.search.category_smoothing))
    throw std::invalid_argument("category_smoothing must be at least 0, and finite");
}

constexpr double kMostWhole = std::numeric_limits<std::uint16_t>::max();   // weight of a row
constexpr double kMostCounted = std::numeric_limits<std::int32_t>::max();  // weight of all rows

// If all weights are whole multiples of the smallest one, and not too large, that one; else 0.
// Whole numbers keep equal gains equal, and are fast.
double whole_unit(std::span<const double> weights) {
  if (weights.empty()) return 1;
  const double unit = *std::min_element(weights.begin(), weights.end());
  double total = 0;
  for (const double weight : weights) {
    const double multiple = std::round(weight / unit);
    if (!(multiple <= kMostWhole) || multiple * unit != weight) return 0;
    total += multiple;
  }
  return total <= kMostCounted ? unit : 0;
}

// Real weights are rounded to multiples of a power of two so small that it does not matter and so
// large that a double holds every sum of them: sums are then exact, in any order. Trees without a
// trunk, whose rows are always summed in their order, keep the weights as they are.
class RealWeights {
 public:
  // A power of two near the largest weight is the unit: no square overflows.
  RealWeights(double largest, std::size_t n_rows)
      : unit_(std::ldexp(1.0, std::ilogb(largest))),
        steps_(n_rows > Grower<RealSample>::kSubtreeRows
                   ? std::ldexp(1.0, 51 - static_cast<int>(std::bit_width(n_rows)))
                   : 0) {}

  double unit() const { return unit_; }
  double operator()(double weight) const {
    constexpr double least = 1e-290;  // of the largest: the squares of lighter rows are nothing
    if (steps_ == 0) return std::max(weight / unit_, least);
    return std::max(std::nearbyint(weight / unit_ * steps_), 1.0) / steps_;
  }

 private:
  double unit_, steps_;  // steps_ of the multiples are a unit; 0: no rounding
};

// The samples of rows with a positive weight_of(row).
template <class Sample, class WeightOf>
std::vector<Sample> make_samples(std::span<const std::uint16_t> labels, const WeightOf& weight_of) {
  std::vector<Sample> samples(labels.size() + 1);  // the last one is written over and over
  std::size_t n = 0;
  for (std::uint32_t i = 0; i < labels.size(); ++i) {
    const auto weight = weight_of(i);
    samples[n] = {i, labels[i], static_cast<decltype(Sample::weight)>(weight)};
    n += weight > 0;
  }
  samples.resize(n);
  return samples;
}

// Makes the classes of a tree's draws weigh the same, as scikit-learn's "balanced_subsample".
std::vector<double> balanced(std::span<const std::uint32_t> times, const TrainingData& data) {
  std::vector<double> drawn(data.n_classes, 0), weights(times.size());
  for (std::size_t i = 0; i < times.size(); ++i) drawn[data.labels[i]] += times[i];
  const double total = std::accumulate(drawn.begin(), drawn.end(), 0.0);
  const auto n_present = static_cast<double>(
      data.n_classes - static_cast<std::size_t>(std::count(drawn.begin(), drawn.end(), 0.0)));
  // No class weighs more than all draws together.
  for (double& of_class : drawn) of_class = RealWeights(1, total)(total / (n_present * of_class));
  for (std::size_t i = 0; i < times.size(); ++i)
    if (times[i]) weights[i] = times[i] * drawn[data.labels[i]];
  return weights;
}

template <class Sample>
using SamplesOf = std::function<std::vector<Sample>(std::size_t tree)>;

// Grows the trees, each from its samples.
template <class Sample>
FittedTrees grow_trees(const TrainingData& data, const CriterionSpec& spec, FitOptions options,
                       const FitContext& context, const SamplesOf<Sample>& samples_of,
                       const Poll& poll, std::atomic<std::size_t>& n_done) {
  options.grow.min_weight_leaf /= context.weight_unit;
  options.grow.search.category_smoothing /= context.weight_unit;
  FittedTrees out{std::vector<Tree>(options.n_trees), context.weight_unit};
  const std::unique_ptr<AnyCriterion> criterion = make_criterion(spec, context);
  const int n_threads = std::clamp(options.n_threads, 1, 4096);
  // Threads that are left over when every tree has one work inside the trees.
  options.grow.n_threads = static_cast<int>(std::max<std::size_t>(
      1, static_cast<std::size_t>(n_threads) / std::max<std::size_t>(1, options.n_trees)));
  std::atomic<std::size_t> next{0};
  // One grower a thread, with its buffers, for all the trees the thread comes to grow.
  parallel_for(
      static_cast<std::size_t>(n_threads), n_threads, poll, [&](std::size_t, const Poll& own_poll) {
        std::size_t i = next.fetch_add(1);
        if (i >= options.n_trees) return;
        Grower<Sample> grower(data.codes, *criterion, options.grow, data.n_classes, own_poll);
        for (; i < options.n_trees; i = next.fetch_add(1)) {
          const std::size_t tree = options.first_tree + i;
          out.trees[i] = grower.grow(samples_of(tree), growth_stream(options.seed, tree));
          ++n_done;
          own_poll();
        }
      });
  return out;
}

}  // namespace

FittedTrees fit_trees(const TrainingData& data, const CriterionSpec& spec,
                      const FitOptions& options, const Poll& poll,
                      std::atomic<std::size_t>& n_done) {
  check(data, options);
  const auto& [codes, labels, weights, n_classes, groups] = data;
  auto grow = [&]<class Sample>(double total_weight, double weight_unit,
                                const SamplesOf<Sample>& samples_of) {
    return grow_trees(data, spec, options, {n_classes, total_weight, weight_unit}, samples_of, poll,
                      n_done);
  };

  if (options.n_draws > 0) {
    const Bootstrap bootstrap(codes.n_rows, options.n_draws, weights, groups);
    const double total = bootstrap.largest_total();
    const SamplesOf<RealSample> real = [&](std::size_t tree) {
      const auto times = bootstrap.draw(options.seed, tree);
      if (!options.balance_draws)
        return make_samples<RealSample>(labels, [&](std::uint32_t i) { return times[i]; });
      const auto weight = balanced(times, data);
      return make_samples<RealSample>(labels, [&](std::uint32_t i) { return weight[i]; });
    };
    const SamplesOf<WholeSample> whole = [&](std::size_t tree) {
      const auto times = bootstrap.draw(options.seed, tree);
      return make_samples<WholeSample>(labels, [&](std::uint32_t i) { return times[i]; });
    };
    // Far enough below what a whole weight holds for chance never to get there.
    const bool fits =
        static_cast<double>(options.n_draws) <= kMostWhole || bootstrap.most_expected() <= 20000;
    const bool is_whole = fits && total <= kMostCounted && !options.balance_draws;
    return is_whole ? grow(total, 1, whole) : grow(total, 1, real);
  }

  // All rows: every tree has the same samples.
  auto grow_same = [&]<class Sample>(double unit, const std::vector<Sample>& samples) {
    double total = 0;
    for (const Sample& s : samples) total += static_cast<double>(s.weight);
    return grow(total, unit, SamplesOf<Sample>([&](std::size_t) { return samples; }));
  };
  if (const double unit = whole_unit(weights); unit > 0)
    return grow_same(unit, make_samples<WholeSample>(labels, [&](std::uint32_t i) {
                       return weights.empty() ? 1.0 : std::round(weights[i] / unit);
                     }));
  const RealWeights real(*std::max_element(weights.begin(), weights.end()), weights.size());
  return grow_same(real.unit(), make_samples<RealSample>(
                                    labels, [&](std::uint32_t i) { return real(weights[i]); }));
}

Tree grow_subtree(const Codes& codes, std::vector<WholeSample> samples, const CriterionSpec& spec,
                  const GrowOptions& options, const FitContext& context, bool unit_weights,
                  double total_weight, Task node, std::span<const std::uint32_t> features,
                  const Poll& poll) {
  if (samples.empty() || features.size() != codes.n_columns() ||
      node.counts.size() != context.n_classes)
    throw std::invalid_argument("a subtree must have rows, and all features and classes");
  const std::unique_ptr<AnyCriterion> criterion = make_criterion(spec, context);
  Grower<WholeSample> grower(codes, *criterion, options, context.n_classes, poll);
  return grower.grow_below(std::move(samples), std::move(node), features, unit_weights,
                           total_weight);
}

std::uint64_t root_key(std::uint64_t seed, std::size_t tree) {
  return growth_stream(seed, tree).next();
}

}  // namespace hardwood
