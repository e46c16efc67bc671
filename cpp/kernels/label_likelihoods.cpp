#include "hardwood/label_likelihoods.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "hardwood/math.hpp"

namespace hardwood {
namespace {

// So many settings are looked at side by side, and so many rows between two polls.
constexpr std::size_t kSettingsAtOnce = 8, kRowsAtOnce = 1024;
// Loops over the shares e are a multiple of this long.
constexpr std::size_t kLanes = 8;
constexpr double kLeast = 1e-300;

std::size_t round_up(std::size_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// Sums of logarithms. Rows that weigh the same are multiplied, as 2^exponent * mantissa with a
// mantissa from 1 to 2, and need no logarithms of their own.
class LogSums {
 public:
  explicit LogSums(std::size_t n) : mantissa_(n, 1.0), exponent_(n, 0), sum_(n, 0.0) {}

  // Adds log((1 - e) own + e / K) for each e to the sums from `first` on.
  void add(std::size_t first, double own, std::span<const double> kept,
           std::span<const double> by_chance) {
    constexpr std::uint64_t one = 0x3ff0000000000000, low = 0x000fffffffffffff;
    double* __restrict mantissa = mantissa_.data() + first;
    std::uint64_t* __restrict exponent = exponent_.data() + first;
    for (std::size_t j = 0; j < kept.size(); ++j) {
      const double p = std::max(kept[j] * own + by_chance[j], kLeast);
      const auto bits = std::bit_cast<std::uint64_t>(mantissa[j] * p);
      exponent[j] += (bits >> 52) - 1023;
      mantissa[j] = std::bit_cast<double>((bits & low) | one);
    }
  }

  // The same times a weight.
  void add_weighted(std::size_t first, double own, std::span<const double> kept,
                    std::span<const double> by_chance, double weight) {
    double* __restrict sum = sum_.data() + first;
    for (std::size_t j = 0; j < kept.size(); ++j)
      sum[j] += weight * math::log(std::max(kept[j] * own + by_chance[j], kLeast));
  }

  // What was added, of which the products count with this weight.
  double at(std::size_t i, double weight) const {
    const auto exponent = static_cast<double>(static_cast<std::int64_t>(exponent_[i]));
    return sum_[i] + weight * (exponent * math::kLn2 + math::log(mantissa_[i]));
  }

 private:
  std::vector<double> mantissa_;
  std::vector<std::uint64_t> exponent_;  // modulo 2^64, as it is negative
  std::vector<double> sum_;
};

// s_y^a / Σ_k s_k^a of a row, for each a and some settings.
class OwnShares {
 public:
  OwnShares(const VotesOnLabels& rows, const LabelNoise& noise)
      : rows_(rows),
        noise_(noise),
        log_(rows.n_classes * kSettingsAtOnce),
        powers_(2 * log_.size()),
        own_(noise.exponents.size() * kSettingsAtOnce) {}

  // [a][setting], from the setting `first` on.
  std::span<const double> of(std::size_t row, std::size_t first, std::size_t n_settings) {
    const std::size_t n_classes = rows_.n_classes, n = n_classes * n_settings;
    const double n_votes = static_cast<double>(rows_.n_votes[row]);
    const double even = noise_.even / static_cast<double>(n_classes);
    const float* votes = rows_.votes.data() + (row * rows_.n_settings + first) * n_classes;
    for (std::size_t s = 0; s < n_settings; ++s)
      for (std::size_t k = 0; k < n_classes; ++k)
        log_[k * n_settings + s] = std::max<double>(votes[s * n_classes + k], 0) / n_votes + even;
    for (std::size_t i = 0; i < n; ++i) log_[i] = math::log(log_[i]);
    const double* of_label = log_.data() + rows_.labels[row] * n_settings;
    double own_log[kSettingsAtOnce];
    std::copy_n(of_label, n_settings, own_log);
    for (std::size_t k = 0; k < n_classes; ++k)
      for (std::size_t s = 0; s < n_settings; ++s) log_[k * n_settings + s] -= own_log[s];
    for (std::size_t a = 0; a < noise_.exponents.size(); ++a) {
      // Two sets of powers take turns: where an exponent is twice the one before the last, squares
      // will do.
      double* __restrict power = powers_.data() + (a % 2) * log_.size();
      if (a >= 2 && noise_.exponents[a] == 2 * noise_.exponents[a - 2]) {
        for (std::size_t i = 0; i < n; ++i) power[i] *= power[i];
      } else {
        const double* __restrict log = log_.data();
        for (std::size_t i = 0; i < n; ++i)
          power[i] = math::exp(std::clamp(noise_.exponents[a] * log[i], -690.0, 690.0));
      }
      double* __restrict sum = own_.data() + a * n_settings;
      std::fill_n(sum, n_settings, 0.0);
      for (std::size_t k = 0; k < n_classes; ++k)
        for (std::size_t s = 0; s < n_settings; ++s) sum[s] += power[k * n_settings + s];
      for (std::size_t s = 0; s < n_settings; ++s) sum[s] = 1 / sum[s];
    }
    return {own_.data(), noise_.exponents.size() * n_settings};
  }

 private:
  const VotesOnLabels& rows_;
  const LabelNoise& noise_;
  std::vector<double> log_, powers_, own_;  // [class][setting], and [a][setting]
};

}  // namespace

void label_likelihoods(const VotesOnLabels& rows, const LabelNoise& noise, int n_threads,
                       const Poll& poll, std::span<double> out) {
  const std::size_t n_rows = rows.labels.size(), n_exponents = noise.exponents.size();
  const std::size_t n_mixed = noise.mixed_in.size(), n_padded = round_up(n_mixed);
  std::vector<double> kept(n_padded, 1.0), by_chance(n_padded, 0.0);
  for (std::size_t j = 0; j < n_mixed; ++j) {
    kept[j] = 1 - noise.mixed_in[j];
    by_chance[j] = noise.mixed_in[j] / static_cast<double>(rows.n_classes);
  }
  const bool weigh_the_same =
      std::ranges::all_of(rows.weights, [&](double w) { return w == rows.weights.front(); });
  const std::size_t n_parts = (rows.n_settings + kSettingsAtOnce - 1) / kSettingsAtOnce;
  parallel_for(n_parts, n_threads, poll, [&](std::size_t part, const Poll& own_poll) {
    const std::size_t first = part * kSettingsAtOnce;
    const std::size_t n_settings = std::min(kSettingsAtOnce, rows.n_settings - first);
    OwnShares shares(rows, noise);
    LogSums sums(n_settings * n_exponents * n_padded);
    for (std::size_t row = 0; row < n_rows; ++row) {
      if (row % kRowsAtOnce == 0) own_poll();
      const auto own = shares.of(row, first, n_settings);
      for (std::size_t i = 0; i < own.size(); ++i) {
        if (weigh_the_same)
          sums.add(i * n_padded, own[i], kept, by_chance);
        else
          sums.add_weighted(i * n_padded, own[i], kept, by_chance, rows.weights[row]);
      }
    }
    const double weight = weigh_the_same && n_rows > 0 ? rows.weights.front() : 0.0;
    for (std::size_t s = 0; s < n_settings; ++s)
      for (std::size_t a = 0; a < n_exponents; ++a)
        for (std::size_t j = 0; j < n_mixed; ++j)
          out[((first + s) * n_exponents + a) * n_mixed + j] =
              sums.at((a * n_settings + s) * n_padded + j, weight);
  });
}

}  // namespace hardwood
