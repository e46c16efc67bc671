// What a criterion is.
//
// A criterion sees a node only through its class counts (weights, where samples are weighted). It
// answers three questions: how impure is a node, how good is a split compared with others of the
// same node (`score`, larger is better), and what does a split gain (`gain`; exactly zero where
// nothing but rounding is gained, which is what stops growth).
//
// Most criteria are impurities. They define `risk` = n × impurity and get the rest from
// RiskCriterion. Those that see the counts only through (n, Σ g(n_k), max n_k, min n_k) also say so
// as a SummedCriterion: `step` is what Σ g grows by when a class grows by one sample, and the scan
// costs O(1) a sample whatever the number of classes.
//
// docs/add-a-criterion.md tells how to add one.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace hardwood {

// What a criterion may know of the fit.
struct FitContext {
  std::size_t n_classes;
  double total_weight;
  double weight_unit = 1;  // what a weight of 1 in the engine is in the user's weights
  bool scans = true;       // whether cuts will be scanned: only scans use tables of counts

  double largest_tabulated_count() const { return scans ? total_weight : 0; }
};

// The class counts of a node, or of one side of a split, and their sum.
struct Counts {
  std::span<const double> of_class;
  double n;
};

// A side of a split as the scan of a SummedCriterion knows it.
template <class Sum>
struct Summary {
  double n;
  Sum sum;                    // Σ g(n_k)
  double max;                 // max n_k
  double min = 0, n_min = 0;  // min n_k, and of how many classes it is the count
};

// A gain below this share of the node's risk is rounding. Genuine gains can be as small as 1e-9 of
// it; the risks are accurate to about 1e-15.
inline constexpr double kRounding = 1e-12;

template <class C>
concept Criterion = requires(const C& c, Counts side) {
  { c.impurity(side) } -> std::same_as<double>;
  { c.score(side, side) } -> std::same_as<double>;
  { c.gain(side, side, side) } -> std::same_as<double>;
};

template <class C>
concept SummedCriterion = Criterion<C> && requires(const C& c, Summary<typename C::Sum> side) {
  { c.step(std::int64_t{}, std::int64_t{}) } -> std::same_as<typename C::Sum>;
  { c.score(side, side) } -> std::same_as<double>;
  { c.can_sum() } -> std::same_as<bool>;  // false where sums overflow, or do not suffice
  { C::uses_sum } -> std::convertible_to<bool>;
  { C::uses_max } -> std::convertible_to<bool>;
};

// Whether a SummedCriterion looks at the smallest count: then `uses_min` says so.
template <class C>
inline constexpr bool kUsesMin = requires { requires C::uses_min; };

// A SummedCriterion of two classes alone, which are not alike to it: it makes the summary of a side
// from their counts.
template <class C>
concept TwoClassCriterion = SummedCriterion<C> && requires {
  { C::summary(std::int32_t{}, std::int32_t{}) } -> std::same_as<Summary<typename C::Sum>>;
};

// A side of a split in a node of small weight, where whole sums fit 32 bits.
struct RoughSide {
  std::int32_t n, sum, max;
};

// A SummedCriterion that can also compare cuts roughly, in single precision and so twice as many at
// once: `rough_score` differs from `score` by less than kRoughness of it. Only the best few by this
// are scored exactly, so the result is the same. It is a concave impurity, and `risk_of` a score is
// the risk of both sides together.
template <class C>
concept RoughCriterion = SummedCriterion<C> && requires(const C& c, RoughSide side) {
  { c.rough_score(side, side) } -> std::same_as<float>;
  { c.risk(Summary<typename C::Sum>{}) } -> std::same_as<double>;
  { C::risk_of(double{}, double{}) } -> std::same_as<double>;
};

// Scores are sums of two terms of the same sign; each is some four roundings away from exact.
inline constexpr float kRoughness = 0x1p-20f;
// What a cut must reach roughly in order to be as good as one of that rough score, exactly. Cuts
// that are ruled out have a score of -infinity, and do not.
inline float just_below(float score) {
  return std::max(score - 4 * kRoughness * std::abs(score), std::numeric_limits<float>::lowest());
}
// The largest weight of a node whose sums of squares fit 32 bits.
inline constexpr double kLargestRough = 46340;

// Criteria that are impurities, from their risk.
template <class Derived>
struct RiskCriterion {
  double impurity(Counts node) const { return node.n > 0 ? self().risk(node) / node.n : 0; }
  double score(Counts left, Counts right) const {
    return -(self().risk(left) + self().risk(right));
  }
  double gain(Counts parent, Counts left, Counts right) const {
    const double before = self().risk(parent);
    const double gain = before - (self().risk(left) + self().risk(right));
    return gain > self().rounding() * before ? gain : 0;
  }
  double rounding() const { return kRounding; }
  bool can_sum() const { return true; }

 private:
  const Derived& self() const { return static_cast<const Derived&>(*this); }
};

// The prediction of smallest risk for a leaf, where the criterion is the impurity of a loss and
// knows it (Theorem 3 and the proofs of Theorems 1 and 6): replaces class counts, up to a factor.
template <class C>
concept HasOptimalLeaf =
    requires(const C& c, std::span<double> counts) { c.predict_optimally(counts); };

struct PredictsProportions {
  static void predict_optimally(std::span<double>) {}
};

// Keeps the largest count, the first of equals, and makes the others zero.
inline void keep_majority(std::span<double> counts) {
  const auto major = std::max_element(counts.begin(), counts.end());
  for (auto count = counts.begin(); count != counts.end(); ++count)
    if (count != major) *count = 0;
}

// Σ n_k², a whole number where the counts are.
struct SumOfSquares {
  using Sum = std::int64_t;
  static constexpr bool uses_sum = true;
  static Sum step(std::int64_t count, std::int64_t weight) { return weight * (2 * count + weight); }
  // Of 32 bits, or of several features' (lanes.hpp).
  template <class Ints>
  static Ints rough_step(Ints count, Ints weight) {
    return weight * (2 * count + weight);
  }
};

// n - max n_k, summed over the other classes so that nothing cancels.
inline double minority(Counts node) {
  const auto major = std::max_element(node.of_class.begin(), node.of_class.end());
  double sum = 0;
  for (auto count = node.of_class.begin(); count != node.of_class.end(); ++count)
    if (count != major) sum += *count;
  return sum;
}

// n² - Σ n_k² = 2 Σ_{j<k} n_j n_k, summed so that nothing cancels.
inline double pairs_apart(Counts node) {
  double before = 0, sum = 0;
  for (const double count : node.of_class) {
    sum += count * before;
    before += count;
  }
  return 2 * sum;
}

}  // namespace hardwood
