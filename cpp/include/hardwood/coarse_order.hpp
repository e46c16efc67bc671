// The samples of a large node in the order of a feature's codes, as far as it matters.
//
// Neighbouring codes share a bin. The class counts of the bins tell in which of them a cut may be
// the best one of the node (bin_scan.hpp); most often these are few, or none. Only their samples
// are ordered. All samples between two of these bins become one entry for each class, as no cut
// among them is the best.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "hardwood/cut_scan.hpp"
#include "hardwood/order.hpp"

namespace hardwood {

enum class CoarseResult {
  unfit,    // order all samples
  nothing,  // no cut of the feature is better than the best one so far
  ordered,  // the entries are in the workspace
};

// One a thread.
class CoarseOrder {
 public:
  using Scan = CutScan<WholeSample>;

  // All cuts of the node must be allowed.
  void start_node() { least_risk_ = std::numeric_limits<double>::infinity(); }

  // For a scan that takes bins. `best_score` is that of a cut that the feature's must beat.
  CoarseResult order(std::span<const WholeSample> samples, const std::uint16_t* codes,
                     CodeRange range, std::size_t n_classes, double best_score, Scan& scan,
                     Workspace<WholeSample>& space) {
    if (range.size() < kFewestCodes) return CoarseResult::unfit;
    const std::size_t n = samples.size();
    int& merit = merits_[static_cast<std::size_t>(std::bit_width(n))];
    if (merit < 0 && ++n_skipped_ % kRetry != 0) return CoarseResult::unfit;
    const std::size_t most_bins = std::min(Scan::kMostBins, std::bit_floor(n / (2 * n_classes)));
    if (most_bins < kFewestBins) return CoarseResult::unfit;
    const Bins bins(range, most_bins);
    const std::size_t n_bins = bins.of(range.last) + 1;
    weights_.assign(n_bins * n_classes, 0);
    std::uint32_t* const weights = weights_.data();
    for (std::size_t i = 0; i < n; ++i)
      weights[bins.of(codes[i]) * n_classes + samples[i].label] += samples[i].weight;

    const auto node_weight = std::accumulate(weights_.begin(), weights_.end(), std::uint64_t{0});
    const double least = std::min(least_risk_, scan.risk_of(best_score));
    least_risk_ = scan.bound_bins(weights, n_bins, least, bounds_.data());
    const double limit = least_risk_ + kSlack * static_cast<double>(node_weight);
    // The first bin is one code: no cut is inside.
    is_open_[0] = false;
    std::size_t n_open = 0, first = n_bins, last = 0, weight = 0;
    for (std::size_t b = 1; b < n_bins; ++b) {
      is_open_[b] = bounds_[b] <= limit;
      if (!is_open_[b]) continue;
      ++n_open;
      weight = std::accumulate(weights + b * n_classes, weights + (b + 1) * n_classes, weight);
      first = std::min(first, b);
      last = b;
    }
    auto judge = [&](int worth) { merit = std::clamp(merit + worth, -kMostMerit, kMostMerit); };
    if (n_open == 0) {
      judge(3);
      return CoarseResult::nothing;
    }
    // No sample weighs less than 1.
    if (weight == 0 || 2 * (weight + (n_open + 1) * n_classes) > n) {
      judge(-1);
      return CoarseResult::unfit;
    }
    judge(1);

    const std::size_t n_ordered = take_open(samples, codes, bins, space);
    const CodeRange of_open{bins.first_code(first),
                            std::min(bins.first_code(last + 1) - 1, range.last)};
    order_samples<WholeSample>({space.others.data(), n_ordered}, space.other_codes.data(), of_open,
                               n_classes, true, space);
    merge(bins, n_bins, n_classes, space);
    return CoarseResult::ordered;
  }

 private:
  static constexpr std::size_t kFewestBins = 16;
  static constexpr std::uint32_t kFewestCodes = 2 * Scan::kMostBins;  // with fewer, sorts are fast
  // Where many bins stay open, making them is in vain. Nodes of about the same size are alike: they
  // do without once that has happened too often, but for one try in so many.
  static constexpr int kMostMerit = 16;
  static constexpr std::uint32_t kRetry = 16;
  static constexpr double kSlack = 1e-9;  // of the node's weight; risks are accurate to far less

  // The first code, which many samples often have, has a bin of its own. All others hold the same
  // number of codes.
  class Bins {
   public:
    Bins(CodeRange range, std::size_t most)
        : first_(range.first),
          shift_(std::bit_width((range.size() - 2) / (most - 1))),
          last_in_bin_((1u << shift_) - 1) {}

    std::size_t of(std::uint32_t code) const { return (code - first_ + last_in_bin_) >> shift_; }
    std::uint32_t first_code(std::size_t bin) const {
      return bin == 0 ? first_ : first_ + 1 + (static_cast<std::uint32_t>(bin - 1) << shift_);
    }

   private:
    std::uint32_t first_;
    int shift_;
    std::uint32_t last_in_bin_;
  };

  // Copies the samples of open bins, and returns their number.
  std::size_t take_open(std::span<const WholeSample> samples, const std::uint16_t* codes,
                        const Bins& bins, Workspace<WholeSample>& space) {
    const std::size_t n = samples.size();
    if (space.others.size() <= n) {
      space.others.resize(n + 1);
      space.other_codes.resize(n + 1);
    }
    WholeSample* others = space.others.data();
    std::uint16_t* other_codes = space.other_codes.data();
    std::size_t n_open = 0;
    for (std::size_t i = 0; i < n; ++i) {
      others[n_open] = samples[i];
      other_codes[n_open] = codes[i];
      n_open += is_open_[bins.of(codes[i])];
    }
    return n_open;
  }

  // Puts entries for all other samples between those of open bins.
  void merge(const Bins& bins, std::size_t n_bins, std::size_t n_classes,
             Workspace<WholeSample>& space) {
    using Weight = WholeSample::Weight;
    Entry<Weight>* const entries = space.entry.data() + space.first;
    const std::span<const Entry<Weight>> ordered(entries, space.size);
    merged_.clear();
    std::size_t next = 0;
    for (std::size_t b = 0; b < n_bins;) {
      if (is_open_[b]) {
        const std::uint32_t end = bins.first_code(++b);
        while (next < ordered.size() && ordered[next].code < end)
          merged_.push_back(ordered[next++]);
        continue;
      }
      const auto code = static_cast<std::uint16_t>(bins.first_code(b));
      const Weight* of_bin = weights_.data() + b * n_classes;
      sums_.assign(of_bin, of_bin + n_classes);
      while (++b < n_bins && !is_open_[b]) {
        of_bin += n_classes;
        for (std::size_t k = 0; k < n_classes; ++k) sums_[k] += of_bin[k];
      }
      for (std::size_t k = 0; k < n_classes; ++k)
        if (sums_[k] > 0) merged_.push_back({code, static_cast<std::uint16_t>(k), sums_[k]});
    }
    std::ranges::copy(merged_, entries);
    space.size = merged_.size();
    space.one_row_each = false;
  }

  std::array<int, 64> merits_{};  // by the bits of a node's rows
  std::uint32_t n_skipped_ = 0;
  double least_risk_ = 0;                         // of a cut of the node
  std::vector<std::uint32_t> weights_, sums_;     // [bin][class]; [class]
  std::array<double, Scan::kMostBins> bounds_{};  // of a cut's risk
  std::array<bool, Scan::kMostBins> is_open_{};   // whether the best cut may be in a bin
  std::vector<Entry<std::uint32_t>> merged_;
};

}  // namespace hardwood
