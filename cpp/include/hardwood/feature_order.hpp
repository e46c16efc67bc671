// The order in which nodes draw features.
//
// A node draws features in random order, in batches. `max_features` counts features that vary in
// the node; constant ones are put aside, and remembered for the whole subtree: they stand at the
// front of the list of features, where nothing below the node moves them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "hardwood/grow_options.hpp"
#include "hardwood/rng.hpp"

namespace hardwood {

class FeatureOrder {
 public:
  static constexpr std::size_t kBatch = 32;

  explicit FeatureOrder(std::size_t n_features) : features_(n_features) { reset(); }

  void reset() { std::iota(features_.begin(), features_.end(), 0u); }

  // The features as the last node left them, and as the next one is to find them.
  const std::vector<std::uint32_t>& features() const { return features_; }
  void set_features(std::span<const std::uint32_t> features) {
    std::copy(features.begin(), features.end(), features_.begin());
  }

  // Features known to be constant in the node and all below it.
  std::size_t n_constant() const { return n_constant_; }

  void start_node(std::size_t n_constant) {
    n_constant_ = n_constant;
    end_ = features_.size();
    visited_ = 0;
  }

  // The next features to look at, the last one first, and for each a random number if cuts are
  // random; none if the node has seen enough.
  std::span<const std::uint32_t> draw(const SearchOptions& options, Rng& rng) {
    if (visited_ >= options.max_features) return {};
    size_ = std::min({kBatch, options.max_features - visited_, end_ - n_constant_});
    Rng own = rng;                             // in registers
    for (std::size_t j = 0; j < size_; ++j) {  // drawn ones gather at the back
      const auto undrawn = static_cast<std::uint32_t>(end_ - j - n_constant_);
      std::swap(features_[n_constant_ + own.below(undrawn)], features_[end_ - 1 - j]);
      units_[size_ - 1 - j] = options.random_cuts ? own.unit() : 0;
    }
    rng = own;
    return batch();
  }
  double unit(std::size_t f) const { return units_[f]; }

  // Takes in which features of the batch are constant.
  void settle(const bool* constant) {
    const std::size_t n_new = constants_to_front(constant);
    set_constants_aside(n_new);
    end_ -= size_ - n_new;
    visited_ += size_ - n_new;
  }

 private:
  std::span<std::uint32_t> batch() { return {features_.data() + end_ - size_, size_}; }

  // Returns their number.
  std::size_t constants_to_front(const bool* constant) {
    const std::span<std::uint32_t> some = batch();
    std::size_t n_constant = 0;
    for (std::size_t f = 0; f < some.size(); ++f) {  // free of branches
      const std::uint32_t feature = some[f], other = some[n_constant];
      some[n_constant] = constant[f] ? feature : other;
      some[f] = constant[f] ? other : feature;
      n_constant += constant[f];
    }
    return n_constant;
  }

  // The features stand as [constant | undrawn | batch | drawn before], the batch's constant ones
  // first; these move behind the other constant ones, and the undrawn behind them.
  void set_constants_aside(std::size_t n_new) {
    const std::span<std::uint32_t> some = batch();
    const std::size_t n_undrawn = end_ - size_ - n_constant_;
    for (std::size_t j = 0; j < std::min(n_new, n_undrawn); ++j)
      std::swap(features_[n_constant_ + j], some[n_new - 1 - j]);
    n_constant_ += n_new;
  }

  std::vector<std::uint32_t> features_;
  std::size_t n_constant_ = 0, end_ = 0, visited_ = 0, size_ = 0;
  std::array<double, kBatch> units_{};
};

}  // namespace hardwood
