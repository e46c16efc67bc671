// What the class counts of a few bins of codes tell of the cuts in them.
//
// The cuts between bins are cuts like any other. For a cut inside a bin, there is a lower bound of
// its risk. An impurity I is concave, and twice the counts have twice the impurity, so
// I(a + b) >= I(a) + I(b): with only a part of the bin on either side, the risk is at least that of
// the two sides without the bin. And I(a + b) - I(a) is at least b times the slope at a + b: where
// the least slope of a criterion is known, that is what the bin's samples add at least.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "hardwood/criterion.hpp"
#include "hardwood/cut_scan.hpp"

namespace hardwood {

// A criterion that knows how much its risk grows at least with a class that has at most this share
// of a side, where the squares of all shares add up to no less than `squares`.
template <class C>
inline constexpr bool kKnowsSlope = requires(double share, double squares) {
  { C::least_slope(share, squares) } -> std::same_as<double>;
};

template <SummedCriterion C>
class BinScan {  // for criteria that are no impurities, or too slow to compare
 public:
  static bool takes(const NodeContext&) { return false; }
  static double bound(const C&, std::span<const std::int32_t>, const std::uint32_t*, std::size_t,
                      double, double*) {
    return 0;
  }
};

template <RoughCriterion C>
class BinScan<C> {
 public:
  // Squares of weights that are larger are not exact.
  static bool takes(const NodeContext& node) {
    constexpr double most_weight = 1 << 26;
    return node.n_rows >= kFewestRows && !node.constrained && node.min_rows <= 1 &&
           node.min_weight <= 0 && node.counts.of_class.size() <= kMostClasses &&
           node.counts.n <= most_weight;
  }

  // Writes down the bound for each bin, from the weights [bin][class]. Returns the smallest risk of
  // a cut between two bins, or `least` if that is smaller.
  double bound(const C& criterion, std::span<const std::int32_t> node_count,
               const std::uint32_t* weights, std::size_t n_bins, double least, double* bounds) {
    sum_up(node_count, weights, n_bins);
    find_risks(criterion, left_, n_bins);
    find_risks(criterion, right_, n_bins);
    double before = 0;
    for (std::size_t b = 0; b < n_bins; ++b) {
      bounds[b] = before + right_.risk[b];
      before = left_.risk[b];
      const double risk = left_.risk[b] + right_.risk[b];
      least = risk < least ? risk : least;
    }
    if constexpr (kKnowsSlope<C>) raise(node_count, weights, n_bins, least, bounds);
    return least;
  }

 private:
  static constexpr std::size_t kMostBins = CutScan<WholeSample>::kMostBins;
  static constexpr std::size_t kMostClasses = 64;
  static constexpr std::size_t kFewestRows = 512;  // of a node that it may pay in

  // One side of the cut after each bin.
  struct Side {
    std::array<double, kMostBins> n, max, risk;
    std::array<std::int64_t, kMostBins> sum;

    void set(std::size_t b, std::int32_t its_n, std::int64_t its_sum, std::int32_t its_max) {
      n[b] = its_n;
      sum[b] = its_sum;
      max[b] = its_max;
    }
  };

  void sum_up(std::span<const std::int32_t> node_count, const std::uint32_t* weights,
              std::size_t n_bins) {
    const std::size_t n_classes = node_count.size();
    std::array<std::int32_t, kMostClasses> left{};
    std::int32_t n_node = 0;
    for (const std::int32_t count : node_count) n_node += count;
    for (std::size_t b = 0; b < n_bins; ++b, weights += n_classes) {
      std::int32_t n = 0, max = 0, right_max = 0;
      std::int64_t sum = 0, right_sum = 0;
      for (std::size_t k = 0; k < n_classes; ++k) {
        const std::int32_t on_left = left[k] + static_cast<std::int32_t>(weights[k]);
        const std::int32_t on_right = node_count[k] - on_left;
        left[k] = on_left;
        n += on_left;
        sum += std::int64_t{on_left} * on_left;
        right_sum += std::int64_t{on_right} * on_right;
        if constexpr (C::uses_max) {
          max = std::max(max, on_left);
          right_max = std::max(right_max, on_right);
        }
      }
      left_.set(b, n, sum, max);
      right_.set(b, n_node - n, right_sum, right_max);
    }
  }

  // Adds what the samples of a bin add at least, to bounds that are not above `limit`.
  void raise(std::span<const std::int32_t> node_count, const std::uint32_t* weights,
             std::size_t n_bins, double limit, double* bounds) const {
    const std::size_t n_classes = node_count.size();
    // Before the bin, and from the bin on.
    std::array<double, kMostClasses> left{}, right{}, added{};
    for (std::size_t k = 0; k < n_classes; ++k) right[k] = node_count[k];
    for (std::size_t b = 0; b < n_bins; ++b, weights += n_classes) {
      const double n_left = b > 0 ? left_.n[b - 1] : 0, n_right = right_.n[b];
      const double n_bin = left_.n[b] - n_left;
      if (bounds[b] <= limit * (1 + 1e-9) && n_left > 0 && n_right > 0 && n_bin > 0) {
        auto least_squares = [=](double sum, double n) { return sum / (n * n); };
        const double of_left = least_squares(static_cast<double>(left_.sum[b - 1]), n_left + n_bin),
                     of_right = least_squares(static_cast<double>(right_.sum[b]), n_right + n_bin);
        const double left_share = 1 / n_left, right_share = 1 / n_right;
        for (std::size_t k = 0; k < n_classes; ++k) {
          const double in_bin = weights[k];
          const double slope = std::min(C::least_slope((left[k] + in_bin) * left_share, of_left),
                                        C::least_slope(right[k] * right_share, of_right));
          added[k] = in_bin * std::max(slope, 0.0);
        }
        for (std::size_t k = 0; k < n_classes; ++k) bounds[b] += added[k];
      }
      for (std::size_t k = 0; k < n_classes; ++k) {
        left[k] += weights[k];
        right[k] -= weights[k];
      }
    }
  }

  static void find_risks(const C& criterion, Side& side, std::size_t n_bins) {
    for (std::size_t b = 0; b < n_bins; ++b)
      side.risk[b] = criterion.risk(Summary<typename C::Sum>{side.n[b], side.sum[b], side.max[b]});
  }

  Side left_, right_;
};

}  // namespace hardwood
