// The samples of a small node, in the order of many features at once.
//
// A feature is a lane: the n-th numbers of all vectors are its keys. A key holds a sample's code
// above its class and its weight, so that sorting the keys is all there is to do: one exchange of a
// sorting network orders two samples of as many features as a vector has lanes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "hardwood/lanes.hpp"

namespace hardwood {

// Features of a node that can wait at once.
inline constexpr std::size_t kMostLaneFeatures = 32;

// A sample of a node that is not larger than this has its place in a key: its class is the number
// of its class among those of the node.
struct LaneKey {
  static constexpr std::size_t kMostRows = 256;
  static constexpr std::uint32_t kMostClasses = 16;
  static constexpr int kWeightBits = 12;
  static constexpr std::int32_t kMostWeight = (1 << kWeightBits) - 1;

  // Numbers with a sign are what every instruction set compares.
  static std::int32_t make(std::uint32_t code, std::uint32_t payload) {
    return static_cast<std::int32_t>((code << 16 ^ 0x80000000u) | payload);
  }
  static std::uint32_t payload(std::uint32_t label, std::uint32_t weight) {
    return label << kWeightBits | weight;
  }
  static std::uint16_t code(std::int32_t key) {
    return static_cast<std::uint16_t>(static_cast<std::uint32_t>(key) >> 16 ^ 0x8000u);
  }
  // Of one key or of many.
  template <class Key>
  static Key label(Key key) {
    return (key >> kWeightBits) & (kMostClasses - 1);
  }
  template <class Key>
  static Key weight(Key key) {
    return key & kMostWeight;
  }
};

// The features of a node that wait to be scanned, each in a lane, in the order of its codes.
struct LaneLists {
  const std::int32_t* keys;  // [block][row][lane]
  std::size_t n_rows;
  std::size_t block_lanes;                       // kFewestLanes or kMostLanes
  std::span<const std::uint32_t> looked_at;      // the features' lanes, the first one first
  std::span<const std::int32_t> class_counts{};  // of the classes in the node

  const std::int32_t* block(std::size_t b) const { return keys + b * n_rows * block_lanes; }
  std::int32_t key(std::uint32_t lane, std::size_t row) const {
    return block(lane / block_lanes)[row * block_lanes + lane % block_lanes];
  }
};

// Batcher's merge exchange (Knuth, 5.2.2 M): the same exchanges whatever the keys are.
template <std::size_t N>
void sort_lanes(std::int32_t* keys, std::size_t n_rows) {
  auto order = [=](std::size_t first, std::size_t second) {
    auto &one = as_lanes<N>(keys + first * N), &other = as_lanes<N>(keys + second * N);
    const auto a = one, b = other;
    one = a < b ? a : b;
    other = a < b ? b : a;
  };
  if (n_rows < 2) return;
  const std::size_t top = std::bit_ceil(n_rows) / 2;
  for (std::size_t p = top; p > 0; p /= 2) {
    std::size_t apart = p, r = 0;
    for (std::size_t q = top;; q /= 2) {
      const std::size_t end = n_rows - std::min(n_rows, apart);
      if (p == 1)
        for (std::size_t i = r; i < end; i += 2) order(i, i + apart);
      else
        for (std::size_t first = r; first < end; first += 2 * p)
          for (std::size_t i = first; i < std::min(first + p, end); ++i) order(i, i + apart);
      if (q == p) break;
      apart = q - p;
      r = p;
    }
  }
}

}  // namespace hardwood
