// Draws with replacement that can be told for a range of units without drawing all others.
//
// Units stand in blocks. How many draws fall in a block is found by halving: the draws of a range
// of blocks are split between its two parts by a binomial number. Every range, and every block,
// has a random stream of its own, so whoever knows the weights of the blocks can tell the draws of
// any block alone. All of it is whole-number arithmetic: the same on any machine, and exact.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hardwood/rng.hpp"

namespace hardwood {

inline constexpr std::size_t kDrawBlock = 4096;  // units; their counts stay in the nearest cache

// The weight of the heaviest row. Weights of draws are whole numbers, so that their sums are exact
// in any order; those of 2**31 rows fit 64 bits, doubled.
inline constexpr double kHeaviestDraw = 0x1p31;

inline std::uint32_t draw_weight(double weight, double largest) {
  return static_cast<std::uint32_t>(
      std::max(1.0, std::nearbyint(weight / largest * kHeaviestDraw)));
}

// How many of n trials succeed, each with a probability of part / whole. A trial compares a random
// number with this fraction, bit by bit from the highest down, until they differ.
inline std::size_t binomial(std::size_t n, std::uint64_t part, std::uint64_t whole, Rng& rng) {
  if (part == whole) return n;
  auto count_zeros = [&](std::size_t n_bits) {
    std::size_t ones = 0, left = n_bits;
    for (; left >= 64; left -= 64) ones += static_cast<std::size_t>(std::popcount(rng.next()));
    if (left > 0) ones += static_cast<std::size_t>(std::popcount(rng.next() >> (64 - left)));
    return n_bits - ones;
  };
  std::size_t successes = 0, undecided = n;
  while (undecided > 0 && part > 0) {
    part *= 2;
    const std::size_t zeros = count_zeros(undecided);
    if (part >= whole) {  // the fraction's bit is one
      part -= whole;
      successes += zeros;
      undecided -= zeros;
    } else {
      undecided = zeros;
    }
  }
  return successes;
}

class UnitDraws {
 public:
  // All units are alike.
  UnitDraws(std::size_t n_units, std::size_t n_draws) : n_units_(n_units), n_draws_(n_draws) {}

  // Units are drawn in proportion to their weights (draw_weight). The weights of all blocks are
  // known, and those of the units from the start of a block on, up to the end of another.
  UnitDraws(std::size_t n_units, std::size_t n_draws, std::span<const std::uint64_t> block_weights,
            std::span<const std::uint32_t> unit_weights, std::size_t first_unit = 0)
      : n_units_(n_units), n_draws_(n_draws), first_known_(first_unit), starts_(1, 0) {
    for (const std::uint64_t weight : block_weights) starts_.push_back(starts_.back() + weight);
    keep_.resize(unit_weights.size());
    alias_.resize(unit_weights.size());
    for (std::size_t first = 0; first < unit_weights.size(); first += kDrawBlock)
      make_table(unit_weights, first, std::min(unit_weights.size(), first + kDrawBlock));
  }

  static std::vector<std::uint64_t> block_weights(std::span<const std::uint32_t> unit_weights) {
    std::vector<std::uint64_t> sums((unit_weights.size() + kDrawBlock - 1) / kDrawBlock, 0);
    for (std::size_t i = 0; i < unit_weights.size(); ++i) sums[i / kDrawBlock] += unit_weights[i];
    return sums;
  }

  std::size_t n_units() const { return n_units_; }
  std::size_t n_draws() const { return n_draws_; }
  std::uint64_t total_weight() const { return weight(0, n_blocks()); }
  bool is_weighted() const { return !starts_.empty(); }

  // How often the units from `first` to `last` are drawn. `key` is the tree's.
  std::vector<std::uint32_t> draw(std::uint64_t key, std::size_t first, std::size_t last) const {
    std::vector<std::uint32_t> times(last - first, 0);
    std::vector<std::uint32_t> of_block;  // for blocks that are only partly asked for
    descend(key, 1, 0, n_blocks(), n_draws_, first / kDrawBlock,
            (last + kDrawBlock - 1) / kDrawBlock,
            [&](std::size_t block, std::size_t n_draws, Rng& rng) {
              const std::size_t begin = block * kDrawBlock, end = end_of(block);
              if (begin >= first && end <= last) {
                draw_block(begin, end, n_draws, rng, times.data() + (begin - first));
                return;
              }
              of_block.assign(end - begin, 0);
              draw_block(begin, end, n_draws, rng, of_block.data());
              const std::size_t from = std::max(begin, first), to = std::min(end, last);
              for (std::size_t i = from; i < to; ++i) times[i - first] = of_block[i - begin];
            });
    return times;
  }

 private:
  std::size_t n_blocks() const { return (n_units_ + kDrawBlock - 1) / kDrawBlock; }
  std::size_t end_of(std::size_t block) const {
    return std::min(n_units_, (block + 1) * kDrawBlock);
  }

  // The weight of a range of blocks.
  std::uint64_t weight(std::size_t begin, std::size_t end) const {
    if (is_weighted()) return starts_[end] - starts_[begin];
    return std::min(n_units_, end * kDrawBlock) - begin * kDrawBlock;
  }

  // Calls use(block, n_draws, stream) for those of the blocks begin..end that are asked for and
  // get any draw. The left part is a power of two of blocks: halves of alike units need one bit a
  // draw.
  template <class Use>
  void descend(std::uint64_t key, std::uint64_t number, std::size_t begin, std::size_t end,
               std::size_t n_draws, std::size_t first, std::size_t last, const Use& use) const {
    if (n_draws == 0 || begin >= last || end <= first) return;
    Rng rng(key, number);
    if (end - begin == 1) {
      use(begin, n_draws, rng);
      return;
    }
    const std::size_t middle = begin + std::bit_floor(end - begin - 1);
    const std::size_t n_left = binomial(n_draws, weight(begin, middle), weight(begin, end), rng);
    descend(key, 2 * number, begin, middle, n_left, first, last, use);
    descend(key, 2 * number + 1, middle, end, n_draws - n_left, first, last, use);
  }

  void draw_block(std::size_t begin, std::size_t end, std::size_t n_draws, Rng& rng,
                  std::uint32_t* times) const {
    const auto size = static_cast<std::uint32_t>(end - begin);
    if (is_weighted()) {
      const std::uint32_t* keep = keep_.data() + (begin - first_known_);
      const std::uint16_t* alias = alias_.data() + (begin - first_known_);
      for (std::size_t i = 0; i < n_draws; ++i) {
        const auto [unit, fraction] = rng.below_with_fraction(size);
        ++times[fraction <= keep[unit] ? unit : alias[unit]];
      }
      return;
    }
    if (size < kDrawBlock) {
      for (std::size_t i = 0; i < n_draws; ++i) ++times[rng.below(size)];
      return;
    }
    constexpr int bits = std::bit_width(kDrawBlock) - 1;
    constexpr std::size_t at_once = 64 / bits;
    for (; n_draws >= at_once; n_draws -= at_once) {
      std::uint64_t random = rng.next();
      for (std::size_t j = 0; j < at_once; ++j, random >>= bits) ++times[random % kDrawBlock];
    }
    std::uint64_t random = rng.next();
    for (; n_draws > 0; --n_draws, random >>= bits) ++times[random % kDrawBlock];
  }

  // Walker's alias method: a unit drawn evenly keeps the draw with a probability of its own, and
  // passes it on to another otherwise.
  void make_table(std::span<const std::uint32_t> weights, std::size_t begin, std::size_t end) {
    constexpr std::uint64_t full = std::uint64_t{1} << 32;
    const std::size_t n = end - begin;
    std::uint64_t total = 0;
    for (std::size_t i = begin; i < end; ++i) total += weights[i];
    std::vector<std::uint64_t> share(n);  // of a mean unit's; products only, so no sum is rounded
    std::vector<std::uint16_t> light, heavy;
    for (std::size_t i = 0; i < n; ++i) {
      const double of_mean =
          static_cast<double>(weights[begin + i] * std::uint64_t{n}) / static_cast<double>(total);
      share[i] = static_cast<std::uint64_t>(of_mean * static_cast<double>(full));
      alias_[begin + i] = static_cast<std::uint16_t>(i);
      (share[i] < full ? light : heavy).push_back(static_cast<std::uint16_t>(i));
    }
    while (!light.empty() && !heavy.empty()) {
      const std::uint16_t poor = light.back(), rich = heavy.back();
      light.pop_back();
      alias_[begin + poor] = rich;
      share[rich] -= full - share[poor];
      if (share[rich] < full) {
        heavy.pop_back();
        light.push_back(rich);
      }
    }
    // What rounding left over keeps its own draws, as it is its own alias.
    for (std::size_t i = 0; i < n; ++i)
      keep_[begin + i] =
          static_cast<std::uint32_t>(std::clamp<std::uint64_t>(share[i], 1, full) - 1);
  }

  std::size_t n_units_, n_draws_;
  std::size_t first_known_ = 0;        // unit in the tables
  std::vector<std::uint64_t> starts_;  // running sum of the blocks' weights; empty: all alike
  std::vector<std::uint32_t> keep_;    // the largest random number that keeps a draw
  std::vector<std::uint16_t> alias_;   // in the block
};

}  // namespace hardwood
